"""NVIDIA's device plugin on the same node: the GPUs that its pods hold are left to them, and conflicts have names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from events import said_about
from gpu_view import devices_on, look
from harness import driver
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, pod
from neighbours.device_plugin import RESOURCE, DevicePlugin
from patients import taints_are_kept
from plugin_http import metrics_of

pytestmark = pytest.mark.long
DRIVER = "gpu.nvidia.com"
TAINT = f"{DRIVER}/device-plugin"


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


def taints_of(installed: Running, node: Node, device: Object) -> list[tuple[str, str]] | None:
    """Keys and effects; nothing when it is not offered at all."""
    found = [each.get("taints", []) for each in devices_on(installed, node.name) if each["name"] == device["name"]]
    return [(taint["key"], taint["effect"]) for taint in found[0]] if found else None


def is_avoided(installed: Running, node: Node, device: Object) -> bool:
    """By a taint that keeps new claims away; withdrawn where the server drops taints."""
    return taints_of(installed, node, device) == ([(TAINT, "NoSchedule")] if taints_are_kept(installed) else None)


def test_a_gpu_that_a_device_plugin_pod_holds_is_avoided_for_as_long(
    installed: Running, namespace: Kubectl, node: Node, gpu: Object
) -> None:
    namespace.apply(legacy_pod(node))
    namespace.wait_for_pod("legacy")
    wait_for("it is avoided", lambda: is_avoided(installed, node, gpu))
    assert metrics_of(installed, node)["tessera_device_plugin_gpus"] == 1
    namespace.delete("pod", "legacy")
    wait_for("it is free", lambda: taints_of(installed, node, gpu) == [])


def test_a_claim_for_a_gpu_that_a_device_plugin_pod_holds_is_refused_with_the_pods_name(
    installed: Running, namespace: Kubectl, node: Node, gpu: Object
) -> None:
    if not taints_are_kept(installed):
        pytest.skip("device taints are on from 1.36")
    namespace.apply(legacy_pod(node))
    namespace.wait_for_pod("legacy")
    wait_for("it is avoided", lambda: is_avoided(installed, node, gpu))
    tolerated = [{"key": TAINT, "operator": "Exists"}]
    late = pod("late", node=node.name, claims={"gpu": "wanted"})
    namespace.apply([claim_for(installed, gpu, tolerations=tolerated), late])
    said = wait_for("a refusal", lambda: said_about(namespace, "DeviceHeldByDevicePlugin", "wanted"))
    assert f"{gpu['name']} is held by pod {namespace.namespace}/legacy through {RESOURCE}" in said[0]


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


@pytest.fixture
def excluded(installed: Running, node: Node) -> Iterator[list[Object]]:
    """Two GPUs that the chart leaves to others: one by its UUID, one by an expression."""
    first, second = devices_on(installed, node.name)[:2]
    given = driver.current_values(installed)
    selected = f'device.attributes["{DRIVER}"].uuid == "{uuid_of(second)}"'
    driver.upgrade(installed, yaml.safe_dump({**yaml.safe_load(given), "excludeDevices": [uuid_of(first), selected]}))
    yield [first, second]
    driver.upgrade(installed, given)


def test_excluded_gpus_are_the_device_plugins_and_all_others_are_for_claims(
    installed: Running, namespace: Kubectl, node: Node, excluded: list[Object]
) -> None:
    names = {each["name"] for each in excluded}
    wait_for("they are not offered", lambda: names.isdisjoint(each["name"] for each in devices_on(installed, node.name)))
    left = [uuid_of(each) for each in devices_on(installed, node.name)]
    with DevicePlugin(installed, node, [uuid_of(each) for each in excluded]):
        everything = claim(installed.cluster.release, "wanted", count=len(left))
        namespace.apply([everything, pod("all", node=node.name, claims={"gpu": "wanted"}), legacy_pod(node)])
        for name in ("all", "legacy"):
            namespace.wait_for_pod(name)
        assert set(look(namespace, "all").products) == set(left)
        assert metrics_of(installed, node)["tessera_device_conflicts"] == 0
