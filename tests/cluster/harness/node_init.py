"""A node boots: its root is put together, then containerd and the kubelet, or dockerd, run until the node is killed."""

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
_DOCKER = node_disk.PROGRAMS / "docker"
_STORAGE = {"native": "vfs", "overlayfs": "overlay2"}  # What docker calls containerd's snapshotters.


def services(cluster: Cluster, node: NodeSpec) -> list[Service]:
    path = {"PATH": f"{_RUNTIME}:/usr/sbin:/usr/bin"}  # containerd looks for its shim, the shim for runc.
    ready = probe.unix(node_disk.CONTAINERD_SOCKET)
    found = [Service("containerd", [str(_RUNTIME / "containerd")], node_disk.LOG / "containerd.log", path)]
    if "kubernetes" in cluster.programs:
        found.append(Service("kubelet", _kubelet(node), node_disk.LOG / "kubelet.log", path, ready_to_start=ready))
    if "docker" in cluster.programs:
        found.append(Service("dockerd", _dockerd(), node_disk.LOG / "dockerd.log", path, ready_to_start=ready))
    return found


def _kubelet(node: NodeSpec) -> list[str]:
    return [
        str(_KUBERNETES / "kubelet"),
        "--config=/etc/kubernetes/kubelet.yaml",
        "--kubeconfig=/etc/kubernetes/kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        "--node-labels=nvidia.com/gpu.present=true",  # What GPU Feature Discovery says of such a node.
        "--v=4",  # Shows the calls to DRA plugins.
    ]


def _dockerd() -> list[str]:
    """Without a network for containers: that would need the machine's packet filter."""
    return [
        str(_DOCKER / "dockerd"),
        f"--containerd={node_disk.CONTAINERD_SOCKET}",
        f"--storage-driver={_STORAGE[node_disk.snapshotter(Path('/var/lib'))]}",
        "--bridge=none",
        "--ip-forward=false",
        "--iptables=false",
        "--ip6tables=false",
        "--userland-proxy=false",
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
