"""What the plugin on a node says of itself over HTTP, asked through the API server."""

from __future__ import annotations

import re

from harness import driver
from harness.errors import ClusterError
from harness.lifecycle import Running
from harness.node import Node

_PLAIN = re.compile(r"^(?P<name>\w+) (?P<value>\S+)$", re.MULTILINE)


def metrics_of(running: Running, node: Node) -> dict[str, float]:
    """Series without labels."""
    return {found["name"]: float(found["value"]) for found in _PLAIN.finditer(_ask(running, node, "metrics"))}


def series_of(running: Running, node: Node) -> list[str]:
    """Every series, with its labels and value."""
    return [line for line in _ask(running, node, "metrics").splitlines() if not line.startswith("#")]


def serves(running: Running, node: Node) -> bool:
    """Whether it is registered with the kubelet and its slices are published. The pod's condition follows later."""
    try:
        return _ask(running, node, "readyz") == "ok\n"
    except ClusterError:  # kubectl's word for 503.
        return False


def _ask(running: Running, node: Node, path: str) -> str:
    tessera = running.kubectl.in_namespace(driver.NAMESPACE)
    (plugin,) = (each for each in tessera.items("pods") if each["spec"]["nodeName"] == node.name)
    address = f"{plugin['metadata']['name']}:{plugin['spec']['containers'][0]['ports'][0]['containerPort']}"
    return tessera("get", "--raw", f"/api/v1/namespaces/{driver.NAMESPACE}/pods/{address}/proxy/{path}")
