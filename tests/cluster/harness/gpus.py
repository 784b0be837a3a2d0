"""A node's simulated GPUs: a driver root made by tessera-sim."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from harness.errors import ClusterError, run
from harness.layout import Cluster, NodeSpec

DRIVER_ROOT = Path("/run/nvidia/driver")  # In the node.
STATE = "var/lib/tessera-sim"  # Below the driver root; at / in a container.

# Major and minor numbers of Linux; what programs and containers expect of any machine.
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_DEVICES_IF_THERE = ("kmsg", "fuse", "net/tun")


def make(cluster: Cluster, node: NodeSpec, simulator: Path) -> None:
    root = cluster.driver_root(node)
    if not simulator.exists():
        raise ClusterError(f"{simulator} is missing; run make first")
    said = run([simulator, "create", "--profile", node.profile, "--root", root])
    if "not permitted" in said:
        raise ClusterError(f"{root} cannot hold device nodes; run as root, on a file system not mounted nodev")
    _complete_dev(root / "dev")
    (root / "proc/sys/kernel/random").mkdir(parents=True)


def _complete_dev(dev: Path) -> None:
    """The simulator's dev/ becomes the node's /dev, so that nvidia nodes come and go there as on a real machine."""
    for name, (major, minor) in _DEVICES.items():
        _node(dev / name, os.makedev(major, minor))
    for name in _DEVICES_IF_THERE:
        try:
            found = os.stat(f"/dev/{name}")
        except FileNotFoundError:
            continue
        (dev / name).parent.mkdir(exist_ok=True)
        _node(dev / name, found.st_rdev)
    for name in ("pts", "shm", "mqueue"):
        (dev / name).mkdir()
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        (dev / name).symlink_to(target)


def _node(path: Path, device: int) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, device)
    path.chmod(0o666)
