"""Finds a cluster's processes from outside, by what they carry in their environment; no file has to be right."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from harness.cluster_init import NODE_VARIABLE
from harness.errors import ClusterError
from harness.layout import cluster_id

CLUSTER_VARIABLE = "TESSERA_CLUSTER_ID"
_PROC = Path("/proc")


def find_init(directory: Path, node: str | None = None) -> int | None:
    """The process number, as this machine counts, of the cluster's or a node's process 1."""
    for pid in members(directory):
        if environment(pid).get(NODE_VARIABLE) == node and _is_first_in_namespace(pid):
            return pid
    return None


def members(directory: Path) -> Iterator[int]:
    """Every living process that the harness started for this cluster; containers' own are not among them."""
    wanted = cluster_id(directory)
    for pid in all_processes():
        if environment(pid).get(CLUSTER_VARIABLE) == wanted and not is_dead(pid):
            yield pid


def all_processes() -> Iterator[int]:
    yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def environment(pid: int) -> dict[str, str]:
    """As it was at exec; empty when the process is gone."""
    try:
        entries = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (entry.decode(errors="replace").partition("=") for entry in entries)
    return {name: value for name, _, value in pairs}


def kill_all(directory: Path, timeout: float = 20) -> None:
    """Kills the cluster's init, which ends everything inside, then whatever is still being set up."""
    first = find_init(directory)
    if first is not None:
        _kill(first)
    deadline = time.monotonic() + timeout
    while remaining := list(members(directory)):
        if time.monotonic() > deadline:
            raise ClusterError(f"these processes do not end: {remaining}; look at them with ps -fp")
        for pid in remaining:
            _kill(pid)
        time.sleep(0.05)


def started(pid: int) -> float:
    """Seconds after the machine's boot, as time.CLOCK_BOOTTIME counts; endless when it is gone."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2]
    except OSError:
        return float("inf")
    return int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _is_first_in_namespace(pid: int) -> bool:
    """The last number of NSpid is the one that the process itself sees."""
    return _status(pid).get("NSpid", "").split()[-1:] == ["1"]


def is_dead(pid: int) -> bool:
    """Gone, or waiting for its parent to notice."""
    return _status(pid).get("State", "X")[0] in "XZ"


def _status(pid: int) -> dict[str, str]:
    try:
        lines = (_PROC / str(pid) / "status").read_text("ascii", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}
