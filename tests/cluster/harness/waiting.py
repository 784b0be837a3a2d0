"""Waiting for conditions, never for times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from harness.errors import ClusterError

_Result = TypeVar("_Result")
_POLL = 0.25


def wait_for(what: str, look: Callable[[], _Result | None], timeout: float = 60) -> _Result:
    """Looks until there is a result that counts as true, and returns it. `look` may fail meanwhile."""
    deadline = time.monotonic() + timeout
    while True:
        failure: ClusterError | None = None
        try:
            if result := look():
                return result
        except ClusterError as error:
            failure = error
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not within {timeout:.0f} s{f'; last: {failure}' if failure else ''}") from failure
        time.sleep(_POLL)
