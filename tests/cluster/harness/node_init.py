"""A node boots: its root is put together, then containerd and the kubelet run until the node is killed."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from harness import control, network, node_disk, node_root, probe
from harness.errors import run
from harness.init import Init, Service
from harness.layout import Cluster, NodeSpec, load

_KUBERNETES = node_disk.PROGRAMS / "kubernetes"
_RUNTIME = node_disk.PROGRAMS / "runtime"


def services(cluster: Cluster, node: NodeSpec) -> list[Service]:
    path = {"PATH": f"{_RUNTIME}:/usr/sbin:/usr/bin"}  # containerd looks for its shim, the shim for runc.
    kubelet = [
        str(_KUBERNETES / "kubelet"),
        "--config=/etc/kubernetes/kubelet.yaml",
        "--kubeconfig=/etc/kubernetes/kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        "--node-labels=nvidia.com/gpu.present=true",  # What GPU Feature Discovery says of such a node.
        "--v=4",  # Shows the calls to DRA plugins.
    ]
    ready = probe.unix(node_disk.CONTAINERD_SOCKET)
    return [
        Service("containerd", [str(_RUNTIME / "containerd")], node_disk.LOG / "containerd.log", path),
        Service("kubelet", kubelet, node_disk.LOG / "kubelet.log", path, ready_to_start=ready),
    ]


def main(directory: Path, name: str) -> None:
    cluster = load(directory)
    node = cluster.node(name)
    server = control.listen(cluster.node_dir(node))  # Before the machine's paths are out of sight.
    node_root.enter(cluster, node)
    network.forward_packets()
    socket.sethostname(name)
    default = run([_RUNTIME / "ctr", "oci", "spec"])
    Path("/etc/containerd/base-spec.json").write_text(node_disk.base_spec(default), encoding="utf-8")
    Init(services(cluster, node), server).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
