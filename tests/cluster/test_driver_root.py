"""The chart's default for the driver's place: the host's root, or where the GPU Operator's driver container has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from gpu_view import look
from harness import driver, gpus
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from workloads import start_with_gpu

pytestmark = pytest.mark.long


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
