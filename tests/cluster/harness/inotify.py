"""Kubernetes' programs watch files with inotify, of which Linux gives a user 128 instances unless told otherwise.

A program that gets none goes on without: certificates are not reloaded, plugins are not noticed, and only a log says so.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from harness.errors import ClusterError

_CONTROL_PLANE, _NODE = 7, 8  # Counted in /proc/PID/fd of a cluster that was up.


def new_instance() -> int:
    """A new instance; negative when there is none left."""
    return int(ctypes.CDLL(None).inotify_init1(os.O_CLOEXEC))


def require(nodes: int, open_one: Callable[[], int] = new_instance) -> None:
    """Fails when a cluster of so many nodes would not get what it needs. Other users of the machine may be quicker."""
    needed, held = _CONTROL_PLANE + _NODE * nodes, list[int]()
    try:
        while len(held) < needed:
            instance = open_one()
            if instance < 0:
                raise ClusterError(
                    f"a cluster needs {needed} inotify instances and {len(held)} are left; end another cluster, "
                    "or allow more: sysctl fs.inotify.max_user_instances=512"
                )
            held.append(instance)
    finally:
        for instance in held:
            os.close(instance)
