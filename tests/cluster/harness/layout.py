"""Where everything of one cluster lies, and what it was told to be. Both inits read it from the cluster's folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.errors import ClusterError
from harness.releases import Release, find_release


@dataclass(frozen=True)
class NodeSpec:
    """One node: its number decides names and addresses, its profile which simulated GPUs it has."""

    number: int
    profile: str

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        return f"10.200.0.{10 + self.number}"

    @property
    def pod_subnet(self) -> str:
        return f"10.244.{self.number}.0/24"


@dataclass(frozen=True)
class Cluster:
    """A cluster's folder and settings. Making one touches nothing."""

    dir: Path
    version: str
    nodes: tuple[NodeSpec, ...]
    programs: Mapping[str, Path]  # Folders; nodes have them below node_disk.PROGRAMS, under these names.
    port: int = 0  # Of the API server on the machine's own loopback.

    @property
    def kubernetes(self) -> Path:
        return self.programs["kubernetes"]

    @property
    def runtime(self) -> Path:
        return self.programs["runtime"]

    @property
    def release(self) -> Release:
        return find_release(self.version)

    @property
    def id(self) -> str:
        return cluster_id(self.dir)

    @property
    def pki(self) -> Path:
        return self.dir / "pki"

    @property
    def log(self) -> Path:
        return self.dir / "log"

    @property
    def kubeconfig(self) -> Path:
        return self.dir / "kubeconfig"

    def node(self, name: str) -> NodeSpec:
        for node in self.nodes:
            if node.name == name:
                return node
        raise ClusterError(f"there is no node {name}; there are: {', '.join(node.name for node in self.nodes)}")

    def node_dir(self, node: NodeSpec) -> Path:
        """The node's disk: what survives its reboot."""
        return self.dir / "nodes" / node.name

    def node_log(self, node: NodeSpec) -> Path:
        """/var/log/cluster inside the node: all components log to one place, and it stays after down()."""
        return self.log / node.name

    def driver_root(self, node: NodeSpec) -> Path:
        """The node's simulated driver; /run/nvidia/driver inside the node."""
        return self.node_dir(node) / "driver"

    def save(self) -> None:
        (self.dir / "cluster.json").write_text(json.dumps(asdict(self), default=str, indent=2) + "\n", encoding="utf-8")


def load(directory: Path) -> Cluster:
    file = directory / "cluster.json"
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ClusterError(f"there is no cluster in {directory}; make cluster brings one up") from error
    return Cluster(
        dir=Path(fields["dir"]),
        version=fields["version"],
        nodes=tuple(NodeSpec(**node) for node in fields["nodes"]),
        programs={name: Path(folder) for name, folder in fields["programs"].items()},
        port=fields["port"],
    )


def cluster_id(directory: Path) -> str:
    """Follows from the folder, so that what a killed cluster left is found without its help."""
    return "tessera-" + hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:10]
