"""The cluster's network: a bridge that joins the nodes, inside network namespaces that end with the cluster.

Nothing is made in the machine's own network. The bridge owns the address of the `kubernetes` service, where the API
server listens, so pods reach it without kube-proxy. Other services have no addresses that answer.
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import run
from harness.layout import Cluster, NodeSpec

BRIDGE_ADDRESS = "10.200.0.1"
SERVICE_ADDRESS = "10.96.0.1"
DNS_ADDRESS = "10.96.0.10"  # Pods are told so, as everywhere; nobody answers there.
SERVICE_SUBNET = "10.96.0.0/16"
_BRIDGE = "nodes"


def namespace_file(cluster: Cluster, node: NodeSpec) -> Path:
    """The node's network namespace as a file; only in the mount namespace of the cluster's init."""
    return cluster.node_dir(node) / "netns"


def make(cluster: Cluster) -> None:
    """Called by the cluster's init, in its own network and mount namespaces."""
    _ip("link", "set", "lo", "up")
    _ip("link", "add", _BRIDGE, "type", "bridge")
    _ip("addr", "add", f"{BRIDGE_ADDRESS}/24", "dev", _BRIDGE)
    _ip("addr", "add", f"{SERVICE_ADDRESS}/32", "dev", _BRIDGE)
    _ip("link", "set", _BRIDGE, "up")
    forward_packets()
    for node in cluster.nodes:
        _join(cluster, node)


def forward_packets() -> None:
    """Of the caller's network namespace."""
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")


def _join(cluster: Cluster, node: NodeSpec) -> None:
    """A veth pair: one end in the node as eth0, the other on the bridge."""
    file = namespace_file(cluster, node)
    file.touch()
    run(["unshare", f"--net={file}", "true"])
    _ip("link", "add", node.name, "type", "veth", "peer", "name", "eth0", "netns", str(file))
    _ip("link", "set", node.name, "master", _BRIDGE, "up")
    inside = ("nsenter", f"--net={file}", "ip")
    run([*inside, "link", "set", "lo", "up"])
    run([*inside, "addr", "add", f"{node.address}/24", "dev", "eth0"])
    run([*inside, "link", "set", "eth0", "up"])
    run([*inside, "route", "add", "default", "via", BRIDGE_ADDRESS])
    _ip("route", "add", node.pod_subnet, "via", node.address)


def _ip(*words: str) -> None:
    run(["ip", *words])
