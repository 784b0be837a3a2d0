"""A node as tests see it: a place to run commands in, with services to stop and a plug to pull."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from harness import control, node_disk, processes
from harness.errors import ClusterError, run
from harness.layout import Cluster, NodeSpec
from harness.waiting import wait_for

FILES = Path("/var/tmp")  # Where a node gets files from outside.


@dataclass(frozen=True)
class Service:
    """A program under an init. Calls return when what they ask for has happened."""

    home: Path  # Of the init's control socket.
    name: str

    def stop(self) -> None:
        self._ask("stop", signal.SIGTERM)

    def start(self) -> None:
        self._ask("start", signal.SIGTERM)

    def restart(self) -> None:
        self._ask("restart", signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL; its init starts it again, as systemd would."""
        self._ask("restart", signal.SIGKILL)

    def _ask(self, do: str, how: signal.Signals) -> None:
        control.ask(self.home, {"do": do, "service": self.name, "signal": int(how)})


@dataclass(frozen=True)
class Node:
    """One node of a running cluster."""

    cluster: Cluster
    spec: NodeSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def driver_root(self) -> Path:
        """As the machine sees it: `tessera-sim --root` takes it."""
        return self.cluster.driver_root(self.spec)

    @property
    def root(self) -> Path:
        """The node's files, and sockets, as the machine reaches them. Links with absolute targets lead out of it."""
        return Path(f"/proc/{self._init()}/root")

    @property
    def kubelet(self) -> Service:
        return self.service("kubelet")

    @property
    def containerd(self) -> Service:
        return self.service("containerd")

    def service(self, name: str) -> Service:
        return Service(self.cluster.node_dir(self.spec), name)

    @property
    def power(self) -> Service:
        """stop() pulls the plug; start() boots with a new boot id, an empty /run and what was on the disk."""
        return Service(self.cluster.dir, self.name)

    def enter_command(self) -> list[str]:
        """The words in front of a command that is to run in the node."""
        kinds = ("--mount", "--net", "--pid", "--uts", "--ipc")
        ours = (str(node_disk.PROGRAMS / name) for name in self.cluster.programs)
        inside = (f"PATH={':'.join([*ours, '/usr/sbin:/usr/bin:/sbin:/bin'])}", "HOME=/root")
        return ["nsenter", f"--target={self._init()}", *kinds, "--wdns=/", "--", "env", "-i", *inside]

    def run(self, *command: str, stdin: str | None = None, timeout: float = 60) -> str:
        return run([*self.enter_command(), *command], stdin=stdin, timeout=timeout)

    def wait_for_containerd(self, timeout: float = 60) -> None:
        wait_for(f"containerd of {self.name}", lambda: self.run(*_ctr("version")), timeout)

    def put(self, file: Path) -> Path:
        """Copies a file of the machine onto the node's disk, and says what it is called there."""
        inside = FILES / file.name
        outside = self._outside(inside)
        outside.parent.mkdir(exist_ok=True)
        shutil.copy(file, outside)
        return inside

    def import_image(self, archive: Path) -> None:
        """Puts an archive of the machine into the node's containerd."""
        inside = self.put(archive)
        try:
            self.run(*_ctr("images", "import", "--local", str(inside)), timeout=300)
        finally:
            self._outside(inside).unlink()

    def tag_image(self, name: str, alias: str) -> None:
        """Gives an image that is there one more name."""
        self.run(*_ctr("images", "tag", "--force", name, alias))

    def images(self) -> list[str]:
        return self.run(*_ctr("images", "list", "--quiet")).split()

    def kill_container(self, container_id: str) -> None:
        """As a crash of its first process; `container_id` as a pod's status has it."""
        self.run(*_ctr("tasks", "kill", "--signal=SIGKILL", container_id.removeprefix("containerd://")))

    def _init(self) -> int:
        pid = processes.find_init(self.cluster.dir, self.name)
        if pid is None:
            raise ClusterError(f"{self.name} is not running; see {self.cluster.log / f'{self.name}.log'}")
        return pid

    def _outside(self, inside: Path) -> Path:
        return self.cluster.node_dir(self.spec) / inside.relative_to("/")


def _ctr(*words: str) -> list[str]:
    return ["ctr", f"--address={node_disk.CONTAINERD_SOCKET}", "--namespace=k8s.io", *words]
