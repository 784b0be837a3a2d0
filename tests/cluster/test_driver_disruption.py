"""The driver and its node go through what nodes go through. No remedy here is `rm` or a restart by hand."""

from __future__ import annotations

import pytest

from gpu_view import look
from harness import driver
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, pod

pytestmark = pytest.mark.alone
PLUGIN = "/usr/bin/tessera-kubelet-plugin"


def start_with_gpu(installed: Running, namespace: Kubectl, node: Node, name: str) -> None:
    made = pod(name, node=node.name, claims={"gpu": f"{name}-gpu"}, restartPolicy="Always")
    namespace.apply([claim(installed.cluster.release, f"{name}-gpu"), made])
    namespace.wait_for_pod(name, timeout=180)  # A kubelet whose Prepare failed tries again after 60 to 90 s.


def test_a_plugin_that_is_killed_comes_back_and_pods_notice_nothing(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")
    start_with_gpu(installed, namespace, node, "after")
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)


def test_after_a_kubelet_restart_pods_keep_their_gpus_and_new_ones_get_theirs(
    installed: Running, namespace: Kubectl
) -> None:
    """A kubelet that starts deletes its node's slices; the driver has to notice and publish them again."""
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    node.kubelet.restart()
    start_with_gpu(installed, namespace, node, "after")
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)


def test_a_pod_has_its_gpu_again_after_a_reboot(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "rebooted")
    seen = look(namespace, "rebooted")
    node.power.restart()
    wait_for("the container runs again", lambda: restarts(namespace.get("pod", "rebooted")) == 1, 180)
    assert look(namespace, "rebooted") == seen


def test_a_pod_deleted_while_the_driver_is_absent_ends_when_it_is_back(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "orphan")
    given = driver.helm(installed, "get", "values", "tessera", "--namespace", driver.NAMESPACE, "--output", "yaml")
    driver.helm(installed, "uninstall", "tessera", "--namespace", driver.NAMESPACE, "--wait")
    namespace.delete("pod", "orphan", wait=False)
    driver.upgrade(installed, given)
    wait_for("the pod is gone", lambda: not namespace.items("pods"), 60)


def restarts(found: Object) -> int:
    (status,) = found["status"]["containerStatuses"]
    return int(status["restartCount"]) if status["ready"] else -1
