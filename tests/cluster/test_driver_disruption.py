"""The driver and its node go through what nodes go through. No remedy here is `rm` or a restart by hand."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from gpu_view import devices_on, look
from harness import driver, image
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.waiting import wait_for
from manifests import claim_template, pod
from simulator import simulate
from workloads import container_of, start_with_gpu

pytestmark = pytest.mark.long
PLUGIN = "/usr/bin/tessera-kubelet-plugin"
DAEMON_SET = "tessera-kubelet-plugin"
ENDLESS = 10_000  # Pods of a load that outlasts its test …
MORE = 8  # … and how many of them must do well after all changes.


def test_a_plugin_that_is_killed_comes_back_and_pods_notice_nothing(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")
    start_with_gpu(installed, namespace, node, "after")
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)


@contextmanager
def impatient_probe(running: Running) -> Iterator[None]:
    """The chart's liveness probe, asked more often than a healthy cluster should, and the container killed at once."""
    hasty = {"periodSeconds": 1, "failureThreshold": 2, "timeoutSeconds": 2, "terminationGracePeriodSeconds": 1}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "gpus", "livenessProbe": hasty}]}}}}
    given, tessera = driver.current_values(running), running.kubectl.in_namespace(driver.NAMESPACE)
    tessera("patch", "daemonset", DAEMON_SET, "--patch", json.dumps(patch))
    tessera("rollout", "status", f"daemonset/{DAEMON_SET}", "--timeout=120s")
    try:
        yield
    finally:
        driver.upgrade(running, given)


def test_a_plugin_that_hangs_is_restarted_and_serves_again(installed: Running, namespace: Kubectl) -> None:
    node, tessera = installed.nodes[0], installed.kubectl.in_namespace(driver.NAMESPACE)
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    with impatient_probe(installed):
        wait_for("the plugins before are gone", lambda: len(tessera.items("pods")) == len(installed.nodes))
        (plugin,) = (each for each in tessera.items("pods") if each["spec"]["nodeName"] == node.name)
        node.run("pkill", "-STOP", "-f", f"^{PLUGIN}")
        name = plugin["metadata"]["name"]
        tessera.wait_until(("pod", name), lambda found: restarts(found) == restarts(plugin) + 1, "it is restarted")
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


def test_an_upgrade_and_a_downgrade_under_load_fail_no_prepare(
    installed: Running, namespace: Kubectl, tmp_path: Path
) -> None:
    """To another image, and back."""
    if not installed.cluster.release.at_least("1.33"):
        pytest.skip("kubelets before 1.33 know one instance of a driver: there is a gap")
    node = installed.nodes[0]
    load = pod("user", command=["nvidia-smi", "-L"], node=node.name, templates={"gpu": "each"})
    spec = {"parallelism": 4, "completions": ENDLESS, "backoffLimit": 0, "template": {"spec": load["spec"]}}
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "load"}, "spec": spec}
    namespace.apply([claim_template(installed.cluster.release, "each"), job])
    given = yaml.safe_load(driver.current_values(installed))
    image.write_variant(driver.image_archive(), f"{given['image']['repository']}:next", tmp_path / "next.tar")
    for each in installed.nodes:
        each.import_image(tmp_path / "next.tar")
    given["image"]["tag"] = "next"
    first = plugin_images(installed)
    driver.upgrade(installed, yaml.safe_dump(given))
    second = plugin_images(installed)
    driver.helm(installed, "rollback", "tessera", "--namespace", driver.NAMESPACE, "--wait", "--timeout=120s")
    before = succeeded(namespace.get("job", "load"))
    assert 0 < before < ENDLESS
    namespace.wait_until(("job", "load"), lambda found: succeeded(found) >= before + MORE, "the load goes on", 300)
    assert namespace.get("job", "load")["status"].get("failed", 0) == 0
    namespace.delete("job", "load")
    assert len(first) == len(second) == 1 and first != second
    assert plugin_images(installed) == first
    events = [each for each in namespace.items("events") if each["reason"] == "FailedPrepareDynamicResources"]
    assert [each["message"] for each in events] == []


def test_a_driver_that_is_missing_at_boot_is_found_when_it_is_loaded(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0]
    simulate(node, "driver", "unload")
    try:
        node.power.restart()
        wait_for("no device is offered", lambda: not devices_on(installed, node.name), 90)
    finally:
        simulate(node, "driver", "reload")
    wait_for("devices are offered", lambda: devices_on(installed, node.name), 90)
    start_with_gpu(installed, namespace, node, "late")
    assert len(look(namespace, "late").products) == 1


def test_containers_restart_while_the_api_server_is_away_for_a_minute_and_pods_start_after(
    installed: Running, namespace: Kubectl
) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen, container = look(namespace, "before"), container_of(namespace, "before")
    installed.service("kube-apiserver").stop()
    try:
        node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")  # It has to come back without the API server, too.
        node.kill_container(container)
        time.sleep(60)  # Longer than leases, watches and the kubelet's patience with a driver that is gone.
    finally:
        installed.service("kube-apiserver").start()
    installed.wait_until_ready()
    start_with_gpu(installed, namespace, node, "after")
    assert container_of(namespace, "before") != container
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)


def plugin_images(running: Running) -> set[str]:
    """Of the plugins that are to stay, by digest."""
    pods = running.kubectl.in_namespace(driver.NAMESPACE).items("pods")
    staying = [each for each in pods if "deletionTimestamp" not in each["metadata"]]
    return {status["imageID"] for each in staying for status in each["status"]["containerStatuses"]}


def succeeded(job: Object) -> int:
    return int(job.get("status", {}).get("succeeded", 0))


def restarts(found: Object) -> int:
    (status,) = found["status"]["containerStatuses"]
    return int(status["restartCount"]) if status["ready"] else -1
