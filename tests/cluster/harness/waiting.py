"""Waiting for conditions, never for times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from harness.errors import ClusterError

_Result = TypeVar("_Result")
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 1.0  # Looking is a program to start, on cores that others wait for.


def wait_for(what: str, look: Callable[[], _Result | None], timeout: float = 60) -> _Result:
    """Looks until there is a result that counts as true, and returns it. `look` may fail meanwhile."""
    deadline, pause = time.monotonic() + timeout, _SHORTEST_PAUSE
    while True:
        failure: ClusterError | None = None
        try:
            if result := look():
                return result
        except ClusterError as error:
            failure = error
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not within {timeout:.0f} s{f'; last: {failure}' if failure else ''}") from failure
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
