"""NVIDIA's device plugin on the same node: the GPUs that its pods hold are left to them, and conflicts have names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from events import said_about
from gpu_view import devices_on
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, pod
from neighbours.device_plugin import RESOURCE, DevicePlugin
from plugin_http import metrics_of

pytestmark = pytest.mark.long
TAINT = "gpu.nvidia.com/device-plugin"


@pytest.fixture
def node(installed: Running) -> Node:
    return installed.nodes[0]


@pytest.fixture
def gpu(installed: Running, node: Node) -> Iterator[Object]:
    """One that a device plugin offers as well."""
    device = devices_on(installed, node.name)[-1]
    with DevicePlugin(installed, node, [uuid_of(device)]):
        yield device


def uuid_of(device: Object) -> str:
    return str(device["attributes"]["uuid"]["string"])


def legacy_pod(node: Node) -> Object:
    made = pod("legacy", node=node.name)
    made["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
    return made


def claim_for(installed: Running, device: Object, **further: object) -> Object:
    selector = f"device.attributes['gpu.nvidia.com'].uuid == '{uuid_of(device)}'"
    return claim(installed.cluster.release, "wanted", selectors=[selector], **further)


def taints_of(installed: Running, node: Node, device: Object) -> list[str]:
    found = next(each for each in devices_on(installed, node.name) if each["name"] == device["name"])
    return [taint["key"] for taint in found.get("taints", [])]


def test_a_gpu_that_a_device_plugin_pod_holds_is_tainted_and_refused_with_the_pods_name(
    installed: Running, namespace: Kubectl, node: Node, gpu: Object
) -> None:
    if not installed.cluster.release.at_least("1.36"):
        pytest.skip("device taints are on from 1.36")
    namespace.apply(legacy_pod(node))
    namespace.wait_for_pod("legacy")
    wait_for("the taint", lambda: taints_of(installed, node, gpu) == [TAINT])
    assert metrics_of(installed, node)["tessera_device_plugin_gpus"] == 1

    tolerated = [{"key": TAINT, "operator": "Exists"}]
    late = pod("late", node=node.name, claims={"gpu": "wanted"})
    namespace.apply([claim_for(installed, gpu, tolerations=tolerated), late])
    said = wait_for("a refusal", lambda: said_about(namespace, "DeviceHeldByDevicePlugin", "wanted"))
    assert f"{gpu['name']} is held by pod {namespace.namespace}/legacy through {RESOURCE}" in said[0]

    namespace.delete("pods", "legacy", "late")
    wait_for("no taint", lambda: not taints_of(installed, node, gpu))


def test_a_gpu_that_a_claim_and_a_device_plugin_pod_both_hold_is_a_conflict_that_names_both(
    installed: Running, namespace: Kubectl, node: Node, gpu: Object
) -> None:
    namespace.apply([claim_for(installed, gpu), pod("first", node=node.name, claims={"gpu": "wanted"})])
    namespace.wait_for_pod("first")
    namespace.apply(legacy_pod(node))
    namespace.wait_for_pod("legacy")
    wanted, legacy = (f"{namespace.namespace}/{name}" for name in ("wanted", "legacy"))
    both = f"{gpu['name']} is held by claim {wanted} and, through {RESOURCE}, by pod {legacy}"
    for kubectl, name in ((namespace, "wanted"), (installed.kubectl, node.name)):
        wait_for(f"an Event on {name}", lambda: any(both in said for said in said_about(kubectl, "DeviceConflict", name)))
    assert metrics_of(installed, node)["tessera_device_conflicts"] == 1
