"""`tessera run` on a node of a cluster: a container of containerd's, beside pods, and never with a pod's GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_view import devices_on, look
from harness import gpus
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.waiting import wait_for
from local_run import Tool, home
from manifests import claim, pod

# As containerd's base spec has it for pods: what the simulated driver in the container reads.
STATE = f"type=bind,src={gpus.DRIVER_ROOT / gpus.STATE},dst=/{gpus.STATE},options=rbind:ro"


@pytest.fixture
def tool(installed: Running, namespace: Kubectl) -> Iterator[Tool]:
    node = installed.nodes[0]
    with home(node, namespace.namespace, claim(installed.cluster.release, "by-hand")) as folder:
        yield Tool(node, folder, "ctr", [f"--mount={STATE}"], {"CONTAINERD_NAMESPACE": "k8s.io"})


def test_its_container_has_one_gpu_and_its_exit_code_is_the_commands(tool: Tool) -> None:
    done = tool.run("sh", "-c", "nvidia-smi -L; ls -d /dev/nvidia[0-9]*; exit 7")
    assert done.returncode == 7, done.stderr
    listed, *nodes = done.stdout.splitlines()
    assert listed.startswith("GPU 0: NVIDIA H100") and nodes == ["/dev/nvidia0"]


def test_pods_get_the_others_and_all_when_it_has_ended(tool: Tool, installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, tool.node.name
    everything = len(devices_on(installed, node))
    with tool.holding() as listed:
        assert "UUID: GPU-" in listed
        # Tainted, or not offered where taints are dropped. The scheduler knows nothing else of runs.
        wait_for("it is avoided", lambda: free_on(installed, node) == everything - 1)
        namespace.apply([claim(release, "rest", count=everything - 1), pod("rest", node=node, claims={"gpu": "rest"})])
        namespace.wait_for_pod("rest")
        seen = look(namespace, "rest")
        assert len(seen.products) == everything - 1 and not any(uuid in listed for uuid in seen.products)
        namespace.delete("pod", "rest")
        namespace.apply([claim(release, "all", count=everything), pod("all", node=node, claims={"gpu": "all"})])
        namespace.wait_until(("pod", "all"), lambda found: bool(found["status"].get("conditions")), "it was looked at")
        assert namespace.get("pod", "all")["status"]["phase"] == "Pending"
    namespace.wait_for_pod("all", timeout=120)
    assert any(uuid in listed for uuid in look(namespace, "all").products)


def free_on(running: Running, node: str) -> int:
    return sum(not device.get("taints") for device in devices_on(running, node))


def test_a_run_that_was_killed_is_in_nobodys_way(tool: Tool) -> None:
    with tool.holding() as first:
        tool.kill("KILL")
        wait_for("the next run stops its container and has its GPU", lambda: first == tool.run("nvidia-smi", "-L").stdout, 60)
