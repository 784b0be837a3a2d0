"""Two DRA drivers as plain processes in one node: ours, and the smallest that Kubernetes' Go library allows (peer/)."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from api import RESOURCE, Api, Watch, now
from harness import gpus, pki, programs
from harness.errors import ClusterError, run
from harness.kubectl import Object
from harness.network import SERVICE_ADDRESS
from harness.node import Node
from harness.places import TOP

HERE = Path(__file__).parent
BIN = TOP / "build/bin"
OURS, PEER = "gpu.nvidia.com", "peer.bench.tessera"
SHORT = {OURS: "tessera", PEER: "peer"}  # In tables.
INSIDE = Path("/var/tmp/bench")  # In the node: programs, access to the API server, scratch files.
KUBECONFIG = INSIDE / "kubeconfig"
_PATIENCE = 60.0


@dataclass(frozen=True)
class _PeerRecipe(programs.Recipe):
    """Unlike the cluster's programs it is made of our own source, so the cache's key has to know that too."""

    source: str = ""

    @property
    def folder(self) -> Path:
        return HERE / "peer"


def build_peer(version: str) -> Path:
    """The peer's program, of the cluster's release."""
    source = hashlib.sha256((HERE / "peer/main.go").read_bytes()).hexdigest()
    return programs.ensure(_PeerRecipe("peer", version, (".",), source=source)) / "peer"


def stripped_size(program: Path, scratch: Path) -> int:
    """Bytes after `strip --strip-all`: both are built without symbols, this makes sure."""
    copy = scratch / f"{program.name}.stripped"
    run(["strip", "--strip-all", "-o", copy, program])
    try:
        return copy.stat().st_size
    finally:
        copy.unlink()


def outside(node: Node, inside: Path = INSIDE) -> Path:
    """A path on the node's disk, as the machine sees it."""
    return node.cluster.node_dir(node.spec) / inside.relative_to("/")


def furnish(node: Node, files: Sequence[Path]) -> None:
    """Puts programs into the node, and an administrator's access that does not leave the cluster's network."""
    folder = outside(node)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    for name in ("ca.crt", "admin.crt", "admin.key"):
        shutil.copy(node.cluster.pki / name, folder)
    access = [str(INSIDE / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    pki.write_kubeconfig_for(f"https://{SERVICE_ADDRESS}", outside(node, KUBECONFIG), *access)


def command(driver: str, node: Node) -> list[str]:
    """Flags of each: its node and its access; ours is told as well where the simulated GPUs are."""
    flags = [f"--node-name={node.name}", f"--kubeconfig={KUBECONFIG}"]
    if driver == PEER:
        return [str(INSIDE / "peer"), *flags]
    root = gpus.DRIVER_ROOT
    flags += [f"--nvidia-driver-root={root}", f"--container-driver-root={root}"]
    flags += [f"--sysfs-root={root / 'sys'}", f"--procfs-root={root / 'proc'}"]
    return [str(INSIDE / "tessera-kubelet-plugin"), *flags]


def socket(driver: str) -> str:
    return f"/var/lib/kubelet/plugins/{driver}/dra.sock"


class Slices:
    """When each driver's devices were there, and which."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._published: dict[str, tuple[float, list[str]]] = {}
        self._watch = Watch(api, f"{RESOURCE}/resourceslices", self._see)

    def forget(self, driver: str) -> None:
        """Deletes the driver's slices, so that publishing means creating."""
        self._api.call("DELETE", f"{RESOURCE}/resourceslices?fieldSelector=spec.driver={driver}")
        self._watch.wait(f"slices of {driver} are gone", lambda: driver not in self._published, _PATIENCE)

    def wait(self, driver: str) -> tuple[float, list[str]]:
        """When the first slice with devices was seen, and their names."""
        self._watch.wait(f"slices of {driver}", lambda: driver in self._published, _PATIENCE)
        return self._published[driver]

    def _see(self, found: Object, gone: bool, seen: float) -> None:
        driver, devices = found["spec"]["driver"], found["spec"].get("devices")
        if gone:
            self._published.pop(driver, None)
        elif devices:
            self._published.setdefault(driver, (seen, [each["name"] for each in devices]))


class Driver:
    """One driver's process in the node."""

    def __init__(self, name: str, node: Node) -> None:
        self.name = name
        self._command = [*node.enter_command(), *command(name, node)]
        self._log = node.cluster.log / f"{SHORT[name]}.log"
        self._entered: subprocess.Popen[bytes] | None = None

    def start(self, slices: Slices) -> float:
        """Seconds from here until the API server has told that its slice is there."""
        slices.forget(self.name)
        with self._log.open("ab") as log:
            begin = now()
            self._entered = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            return slices.wait(self.name)[0] - begin
        except ClusterError as error:
            raise ClusterError(f"{error}; see {self._log}") from error

    def stop(self) -> None:
        """With SIGTERM. Its slices stay."""
        assert self._entered is not None
        (pid,) = children(self._entered.pid)
        run(["kill", f"-{int(signal.SIGTERM)}", str(pid)])
        self._entered.wait(_PATIENCE)

    def resident_kib(self) -> dict[str, int]:
        """Of the driver, and of all its children together."""
        assert self._entered is not None
        (pid,) = children(self._entered.pid)
        return {"driver": resident_kib(pid), "children": sum(resident_kib(child) for child in children(pid))}


def time_to_enter(node: Node) -> float:
    """Seconds that entering the node and starting an empty program takes: part of every start."""
    begin = now()
    node.run("true")
    return now() - begin


def children(pid: int) -> list[int]:
    """Whichever thread has started them."""
    lists = (file.read_text("ascii") for file in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for text in lists for child in text.split()]


def resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def idle(seconds: float) -> None:
    """What is measured here is what a program does when nobody asks anything of it: the one wait for a time."""
    time.sleep(seconds)
