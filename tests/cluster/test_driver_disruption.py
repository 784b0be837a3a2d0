"""The driver and its node go through what nodes go through. No remedy here is `rm` or a restart by hand."""

from __future__ import annotations

import pytest
import yaml

from gpu_view import devices_on, look
from harness import driver
from harness.errors import run
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.places import SIMULATOR
from harness.waiting import wait_for
from manifests import claim, claim_template, pod

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
    given = driver.current_values(installed)
    driver.helm(installed, "uninstall", "tessera", "--namespace", driver.NAMESPACE, "--wait")
    namespace.delete("pod", "orphan", wait=False)
    driver.upgrade(installed, given)
    wait_for("the pod is gone", lambda: not namespace.items("pods"), 60)


def test_an_upgrade_under_load_fails_no_prepare(installed: Running, namespace: Kubectl) -> None:
    if not installed.cluster.release.at_least("1.33"):
        pytest.skip("kubelets before 1.33 know one instance of a driver: there is a gap")
    node = installed.nodes[0]
    load = pod("user", command=["nvidia-smi", "-L"], node=node.name, templates={"gpu": "each"})
    spec = {"parallelism": 4, "completions": 24, "backoffLimit": 0, "template": {"spec": load["spec"]}}
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "load"}, "spec": spec}
    namespace.apply([claim_template(installed.cluster.release, "each"), job])
    plugins = {each["metadata"]["uid"] for each in plugin_pods(installed)}
    given = yaml.safe_load(driver.current_values(installed))
    given["kubeletPlugin"]["podAnnotations"] = {"tessera.test/upgrade": namespace.namespace}
    driver.upgrade(installed, yaml.safe_dump(given))
    namespace.wait_until(("job", "load"), lambda found: found["status"].get("succeeded") == 24, "all succeed", 300)
    assert plugins.isdisjoint(each["metadata"]["uid"] for each in plugin_pods(installed))
    events = [each for each in namespace.items("events") if each["reason"] == "FailedPrepareDynamicResources"]
    assert [each["message"] for each in events] == []


def test_a_driver_that_is_loaded_after_boot_is_found(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    simulate(node, "driver", "unload")
    try:
        wait_for("no device is offered", lambda: not devices_on(installed, node.name), 90)
    finally:
        simulate(node, "driver", "reload")
    wait_for("devices are offered", lambda: devices_on(installed, node.name), 90)
    start_with_gpu(installed, namespace, node, "late")
    assert len(look(namespace, "late").products) == 1


def test_pods_end_and_start_again_after_the_api_server_was_away(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    installed.service("kube-apiserver").stop()
    node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")  # It has to come back without the API server, too.
    installed.service("kube-apiserver").start()
    installed.wait_until_ready()
    start_with_gpu(installed, namespace, node, "after")
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)


def plugin_pods(running: Running) -> list[Object]:
    return running.kubectl.in_namespace(driver.NAMESPACE).items("pods")


def simulate(node: Node, *words: str) -> None:
    run([SIMULATOR, *words, "--root", node.driver_root])


def restarts(found: Object) -> int:
    (status,) = found["status"]["containerStatuses"]
    return int(status["restartCount"]) if status["ready"] else -1
