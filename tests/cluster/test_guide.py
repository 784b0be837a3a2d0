"""The guide's workloads, installed through the chart; each pod is judged by what its container sees."""

from __future__ import annotations

from gpu_view import allocated, look
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from manifests import claim, pod


def test_a_pod_with_a_claim_for_one_gpu_sees_that_gpu_and_no_other(installed: Running, namespace: Kubectl) -> None:
    namespace.apply([claim(installed.cluster.release, "single-gpu"), pod("gpu-pod", claims={"gpu": "single-gpu"})])
    namespace.wait_for_pod("gpu-pod")

    ((name, device),) = allocated(installed, namespace.get("resourceclaim", "single-gpu")).items()
    view = look(namespace, "gpu-pod")
    assert view.products == {device["uuid"]["string"]: device["productName"]["string"]}
    assert view.nodes == {name.replace("gpu-", "nvidia")}
    assert {"nvidiactl", "nvidia-uvm"} <= view.controls
    assert view.environment["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_pod_without_a_claim_sees_no_gpu(installed: Running, namespace: Kubectl) -> None:
    namespace.apply(pod("plain"))
    namespace.wait_for_pod("plain")
    assert namespace.exec("plain", "sh", "-c", "ls /dev | grep -c nvidia || true") == "0\n"


def test_a_claim_for_four_gpus_gives_four_different_ones(installed: Running, namespace: Kubectl) -> None:
    namespace.apply([claim(installed.cluster.release, "multi-gpu", count=4), pod("four", claims={"gpus": "multi-gpu"})])
    namespace.wait_for_pod("four")
    devices = allocated(installed, namespace.get("resourceclaim", "multi-gpu")).values()
    view = look(namespace, "four")
    assert len(view.products) == 4
    assert set(view.products) == {device["uuid"]["string"] for device in devices}
    assert len(view.nodes) == 4
