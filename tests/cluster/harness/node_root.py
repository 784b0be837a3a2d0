"""Builds a node's root file system out of mounts, and enters it.

A tmpfs with the machine's /usr, the node's own /etc and /var from its disk, and fresh /run, /tmp, /proc and /dev: default
paths such as /var/lib/kubelet, /var/run/cdi and /dev/nvidia0 mean the node's, and nothing of the machine is changed.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from harness import gpus
from harness.errors import run
from harness.layout import Cluster, NodeSpec
from harness.node_disk import LOG, PROGRAMS

_OUTSIDE = ".outside"
# The kubelet sets these for the whole machine. It finds them set, in files that stand in front of the real ones.
_TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def enter(cluster: Cluster, node: NodeSpec) -> None:
    """For process 1 of a fresh mount, process and UTS namespace. Afterwards / is the node's."""
    disk = cluster.node_dir(node)
    root = disk / "root"
    _mount("--make-rprivate", "/")
    _mount("-t", "tmpfs", "-o", "mode=0755", "root", str(root))
    _mount_machine(root)
    _mount_own(root, disk)
    _bind(cluster.node_log(node), root / LOG.relative_to("/"))
    for name, folder in cluster.programs.items():
        _bind(folder, root / PROGRAMS.relative_to("/") / name, read_only=True)
    _pivot(root)
    _set_tunables()
    _set_boot_id()
    _mount("--make-rshared", "/")  # Volumes mounted by the kubelet must reach containers.


def _mount_machine(root: Path) -> None:
    _bind(Path("/usr"), root / "usr", read_only=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        outside = Path("/", name)
        if outside.is_symlink():
            (root / name).symlink_to(os.readlink(outside))
        elif outside.is_dir():
            _bind(outside, root / name, read_only=True)
    (root / "sys").mkdir()
    _mount("--rbind", "/sys", str(root / "sys"))


def _mount_own(root: Path, disk: Path) -> None:
    for name in ("etc", "var"):
        _bind(disk / name, root / name)
    for name in ("run", "tmp", "root", "proc"):
        (root / name).mkdir()
    _mount("-t", "tmpfs", "-o", "mode=0755", "run", str(root / "run"))
    _mount("-t", "tmpfs", "tmp", str(root / "tmp"))
    _mount("-t", "proc", "proc", str(root / "proc"))
    _bind(disk / "driver", root / gpus.DRIVER_ROOT.relative_to("/"))
    _bind(disk / "driver" / "dev", root / "dev")
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=0620", "devpts", str(root / "dev/pts"))
    _mount("-t", "tmpfs", "shm", str(root / "dev/shm"))
    _mount("-t", "mqueue", "mqueue", str(root / "dev/mqueue"))


def _pivot(root: Path) -> None:
    """Not chroot: container runtimes must be able to pivot again."""
    (root / _OUTSIDE).mkdir()
    os.chdir(root)
    run(["pivot_root", ".", _OUTSIDE])
    os.chdir("/")
    run(["umount", "--lazy", f"/{_OUTSIDE}"])
    Path("/", _OUTSIDE).rmdir()


def _set_tunables() -> None:
    for name, value in _TUNABLES.items():
        _shadow(Path("/proc/sys", name), value)


def _set_boot_id() -> None:
    """Each boot has its own. In containers /proc is the kernel's; there the driver root's tells the plugin."""
    boot_id = str(uuid.uuid4())
    _shadow(Path("/proc/sys/kernel/random/boot_id"), boot_id)
    (gpus.DRIVER_ROOT / "proc/sys/kernel/random/boot_id").write_text(boot_id + "\n", encoding="ascii")


def _shadow(path: Path, text: str) -> None:
    if not path.exists():
        return
    stand_in = Path("/run/shadow", *path.parts[1:])
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text(text + "\n", encoding="ascii")
    _mount("--bind", str(stand_in), str(path))


def _bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    target.mkdir(parents=True, exist_ok=True)
    _mount("--bind", str(source), str(target))
    if read_only:
        _mount("-o", "remount,bind,ro", str(target))


def _mount(*words: str) -> None:
    run(["mount", *words])
