"""The cluster's own cgroups: one for each node, in every hierarchy the machine has.

Two kubelets on one cgroup root delete each other's pods.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from harness.errors import ClusterError
from harness.layout import Cluster, NodeSpec, cluster_id

MOUNT = Path("/sys/fs/cgroup")
_ID = re.compile(r"tessera-[0-9a-f]{10}")  # See cluster_id().
_COPIED = ("cpuset.cpus", "cpuset.mems")  # v1: empty in a new cgroup, and nothing can run in it then.


def node_root(cluster: Cluster, node: NodeSpec) -> str:
    """The kubelet's cgroupRoot, below the top of each hierarchy."""
    return f"/{cluster.id}/{node.name}"


def make(cluster: Cluster) -> None:
    for top in hierarchies():
        for name in ("", *(node.name for node in cluster.nodes)):
            folder = top / cluster.id / name
            folder.mkdir(exist_ok=True)
            for setting in _COPIED:
                if (folder / setting).exists() and not (folder.parent / "cgroup.controllers").exists():
                    (folder / setting).write_text((folder.parent / setting).read_text("ascii"), encoding="ascii")


def hierarchies() -> list[Path]:
    """Each v1 controller, or the one tree of v2; on a hybrid machine both."""
    if (MOUNT / "cgroup.controllers").exists():
        return [MOUNT]
    return sorted(entry for entry in MOUNT.iterdir() if (entry / "cgroup.procs").exists() and not entry.is_symlink())


def left(directory: Path) -> list[Path]:
    """What is there of the cluster in this folder, innermost first: the order of removal."""
    found: list[Path] = []
    for top in hierarchies():
        home = top / cluster_id(directory)
        if home.is_dir():
            found += [*_below(home), home]
    return found


def remove(directory: Path, timeout: float = 20) -> None:
    """Called when the processes were killed; the kernel may need a moment to let go of the last."""
    deadline = time.monotonic() + timeout
    while remaining := left(directory):
        for folder in remaining:
            try:
                folder.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    raise ClusterError(f"{folder} cannot be removed; its processes: {_processes(folder)}") from None
        time.sleep(0.05)


def homes() -> list[Path]:
    """Of every cluster on this machine, whoever made it."""
    return [home for top in hierarchies() for home in top.glob("tessera-*") if _ID.fullmatch(home.name)]


def remove_orphans(found: list[Path], age: float = 600) -> list[Path]:
    """Those without a process: of killed clusters whose folder is gone, so that nobody can name them any more.

    A cluster that is coming up has no process yet: what is younger than `age` seconds is left alone.
    """
    old = [home for home in found if time.time() - home.stat().st_ctime >= age]
    alive = {home.name for home in old if any(_processes(each) != "none" for each in (*_below(home), home))}
    orphans = [home for home in old if home.name not in alive]
    for home in orphans:
        for folder in (*_below(home), home):
            folder.rmdir()
    return orphans


def _below(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            yield from _below(entry)
            yield entry


def _processes(folder: Path) -> str:
    try:
        return (folder / "cgroup.procs").read_text("ascii").replace("\n", " ") or "none"
    except OSError:
        return "unknown"
