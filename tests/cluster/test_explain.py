"""`tessera explain` on a real cluster: what it says is what the real scheduler then does."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

from gpu_view import devices_on
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.places import PROGRAMS
from harness.waiting import wait_for
from manifests import claim, claim_template, pod
from workloads import start_with_gpu


@dataclass(frozen=True)
class Explained:
    code: int
    answer: Object

    @property
    def changes(self) -> list[str]:
        return [change["text"] for change in self.answer["changes"]]


def explain(namespace: Kubectl, kind: str, name: str) -> Explained:
    where = ["-n", namespace.namespace, "--kubeconfig", str(namespace.kubeconfig)]
    argv = [str(PROGRAMS / "tessera"), "explain", kind, name, *where, "-o", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    return Explained(done.returncode, json.loads(done.stdout))


def test_the_change_that_is_proposed_makes_the_pod_start(installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, installed.nodes[0].name
    there = len(devices_on(installed, node))
    namespace.apply([claim_template(release, "gpus", count=there + 1), pod("big", node=node, templates={"gpu": "gpus"})])
    namespace.wait_until(("pod", "big"), is_unschedulable, "it does not fit")
    told = explain(namespace, "pod", "big")
    assert told.code == 1
    assert f"ask for {there} instead of {there + 1} in request gpu" in told.changes
    namespace.apply([claim_template(release, "fewer", count=there), pod("small", node=node, templates={"gpu": "fewer"})])
    namespace.wait_for_pod("small")
    assert explain(namespace, "pod", "small").code == 0


def test_whoever_holds_the_devices_is_named(installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, installed.nodes[0]
    start_with_gpu(installed, namespace, node, "holder")
    everything = len(devices_on(installed, node.name))
    namespace.apply([claim(release, "all", count=everything), pod("waits", node=node.name, claims={"gpu": "all"})])
    namespace.wait_until(("pod", "waits"), is_unschedulable, "a GPU is held")
    told = explain(namespace, "pod", "waits")
    assert told.code == 1
    assert f"{namespace.namespace}/holder (pod {namespace.namespace}/holder)" in holders(told.answer)


def test_release_and_gates_are_stated(installed: Running, namespace: Kubectl) -> None:
    release = installed.cluster.release
    namespace.apply(claim(release, "one"))
    cluster = explain(namespace, "claim", "one").answer["cluster"]
    assert cluster["version"] == f"v{release.version}"
    assert cluster["gates"], "the administrator may read /metrics"
    assert bool(cluster["notProven"]) != (release.minor in ("1.36", "1.37"))


def test_what_the_kubelet_says_of_a_prepare_that_failed_is_told(installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, installed.nodes[0].name
    misspelt = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "shareing": {}}
    refused = claim(release, "refused")
    refused["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": misspelt}}]
    namespace.apply([refused, pod("refused", node=node, claims={"gpu": "refused"})])
    event, *_ = wait_for("the kubelet's Event", lambda: prepares_that_failed(namespace), 120)
    told = explain(namespace, "pod", "refused")
    assert told.code == 0, "it has its devices"
    news = {each["text"] for each in told.answer["prepare"] if each["about"] == f"pod {namespace.namespace}/refused"}
    assert f"FailedPrepareDynamicResources: {event['message']}" in news


def prepares_that_failed(namespace: Kubectl) -> list[Object]:
    return [each for each in namespace.items("events") if each["reason"] == "FailedPrepareDynamicResources"]


def holders(answer: Object) -> set[str]:
    requests = [request for group in answer["groups"] for request in group["requests"]]
    reasons = [reason for request in requests for reason in request["reasons"] if reason["kind"] == "held"]
    return {device["seen"] for reason in reasons for device in reason["devices"]}


def is_unschedulable(found: Object) -> bool:
    return any(each.get("reason") == "Unschedulable" for each in found["status"].get("conditions", []))
