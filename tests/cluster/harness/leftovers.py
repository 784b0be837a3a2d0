"""What a cluster that was taken down has left on the machine. Nothing, or it is a bug."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from harness import cgroups, processes
from harness.layout import cluster_id


@dataclass(frozen=True)
class Seen:
    """The namespaces of a cluster that was up, and when. The kernel gives their numbers to others once they are free."""

    names: frozenset[str]
    at: float  # CLOCK_BOOTTIME

    def held_by(self, pid: int) -> list[str]:
        return sorted(self.names & set(namespaces_of(pid))) if processes.started(pid) <= self.at else []


NOTHING = Seen(frozenset(), 0)


def find(directory: Path, seen: Seen = NOTHING) -> list[str]:
    """One line for each thing found."""
    mine = cluster_id(directory)
    found = [f"cgroup {folder}" for folder in cgroups.left(directory)]
    for pid in processes.all_processes():
        if processes.is_dead(pid):
            continue
        if processes.environment(pid).get(processes.CLUSTER_VARIABLE) == mine:
            found.append(f"process {pid}: {_command(pid)}")
        elif mine in _read(pid, "cgroup"):
            found.append(f"process {pid} of a container: {_command(pid)}")
        elif _mounts_below(pid, directory):
            found.append(f"mounts below {directory}, held by process {pid}: {_command(pid)}")
        elif held := seen.held_by(pid):
            found.append(f"namespaces {' '.join(held)}, held by process {pid}: {_command(pid)}")
    return found


def look_at(directory: Path) -> Seen:
    """The namespaces of the cluster's processes that are not the caller's own."""
    own = set(namespaces_of(os.getpid()))
    names = frozenset(name for pid in processes.members(directory) for name in namespaces_of(pid)) - own
    return Seen(names, time.clock_gettime(time.CLOCK_BOOTTIME))


def namespaces_of(pid: int) -> list[str]:
    """Such as net:[4026532008]: the kernel's own names, one for each kind."""
    names: list[str] = []
    for kind in ("net", "mnt", "pid", "ipc", "uts"):
        try:
            names.append(os.readlink(f"/proc/{pid}/ns/{kind}"))
        except OSError:
            continue
    return names


def _mounts_below(pid: int, directory: Path) -> bool:
    return any(line.split(" ")[4].startswith(f"{directory}/") for line in _read(pid, "mountinfo").splitlines())


def _command(pid: int) -> str:
    return _read(pid, "cmdline").replace("\0", " ").strip() or "(gone)"


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text("utf-8", "replace")
    except OSError:
        return ""
