"""A driver that the GPU Operator brings: where its container has it, and how the operator changes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from gpu_view import look
from harness import driver, gpus
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.waiting import wait_for
from plugin_http import serves
from simulator import simulate
from workloads import start_with_gpu

pytestmark = pytest.mark.long
LABEL = "nvidia.com/dra-kubelet-plugin"


@pytest.fixture
def unset(installed: Running) -> Iterator[Running]:
    """Installed without nvidiaDriverRoot. The simulated driver's /sys and /proc are then further down."""
    before = driver.current_values(installed)
    given = yaml.safe_load(before)
    del given["nvidiaDriverRoot"]
    for variable in given["kubeletPlugin"]["containers"]["gpus"]["env"]:
        variable["value"] = variable["value"].replace("/driver-root/driver", f"/driver-root{gpus.DRIVER_ROOT}")
    driver.upgrade(installed, yaml.safe_dump(given))
    yield installed
    driver.upgrade(installed, before)


def test_a_driver_container_is_found_and_pods_get_its_files(unset: Running, namespace: Kubectl) -> None:
    node = unset.nodes[0]
    start_with_gpu(unset, namespace, node, "user")
    assert len(look(namespace, "user").products) == 1
    base = yaml.safe_load(node.run("cat", "/var/run/cdi/k8s.gpu.nvidia.com-base.yaml"))
    mounts = base["containerEdits"]["mounts"]
    assert mounts and all(mount["hostPath"].startswith(f"{gpus.DRIVER_ROOT}/") for mount in mounts)


@pytest.fixture
def selected(installed: Running) -> Iterator[Running]:
    """Installed on nodes with the label that the GPU Operator's driver manager is told of; see docs/migration.md."""
    before = driver.current_values(installed)
    given = yaml.safe_load(before)
    given["kubeletPlugin"]["nodeSelector"] = {LABEL: "true"}
    installed.kubectl("label", "nodes", "--all", f"{LABEL}=true")
    driver.upgrade(installed, yaml.safe_dump(given))
    yield installed
    driver.upgrade(installed, before)
    installed.kubectl("label", "nodes", "--all", f"{LABEL}-")


def test_an_upgrade_of_nvidias_driver_finds_no_plugin_in_its_way(selected: Running, namespace: Kubectl) -> None:
    """What the driver manager does: pauses the label, waits for the plugin to go, reloads the driver, sets it back."""
    node = selected.nodes[0]
    start_with_gpu(selected, namespace, node, "before")
    namespace.delete("pod", "before")
    selected.kubectl("label", "--overwrite", "node", node.name, f"{LABEL}=paused-for-driver-upgrade")
    wait_for("the plugin has left the node", lambda: plugins_on(selected, node.name) == 0, 60)
    assert node.run("sh", "-c", "ls /proc/*/exe 2> /dev/null | xargs -n 1 readlink | grep -c tessera || true").strip() == "0"
    simulate(node, "driver", "unload")
    simulate(node, "driver", "reload")
    selected.kubectl("label", "--overwrite", "node", node.name, f"{LABEL}=true")
    wait_for("it is back", lambda: plugins_on(selected, node.name) == 1 and serves(selected, node), 60)
    start_with_gpu(selected, namespace, node, "after")


def plugins_on(running: Running, node: str) -> int:
    pods = running.kubectl.in_namespace(driver.NAMESPACE).items("pods")
    return sum(each["spec"].get("nodeName") == node for each in pods)
