"""Allocation problems of tests/alloc through the real kube-scheduler: it gives the devices that our allocator gives, or
refuses with it. tests/alloc compares thousands more with the scheduler's library; here its plugin and API server are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.kubectl import Kubectl, Object, condition
from harness.lifecycle import Running
from harness.places import TOP
from harness.releases import Release
from manifests import pod

DATA = TOP / "tests/testdata/alloc"
LABELS = {"zone": "z1", "rank": "5"}  # Of the problems' node.
REFUSED = "refused"


@pytest.fixture
def paper_node(cluster: Running, namespace: Kubectl) -> Iterator[str]:
    """A node for the scheduler alone: no kubelet asks for drivers that there are not, and pods go at once."""
    name = f"paper-{namespace.namespace}"
    labels = {"kubernetes.io/hostname": name, **LABELS}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    cluster.kubectl.apply(node)
    cluster.kubectl.apply_status(node | {"status": {"allocatable": {"pods": "1000"}}})
    yield name
    namespace("delete", "pods", "--all", "--force", "--grace-period=0")
    cluster.kubectl.delete("node", name)


@pytest.fixture
def mark(cluster: Running, namespace: Kubectl) -> Iterator[dict[str, str]]:
    """A label for what is in no namespace; whatever carries it goes when the test ends."""
    yield {"test": namespace.namespace}
    api = cluster.cluster.release.resource_api
    for kind in ("resourceslices", "deviceclasses"):  # One request for each kind: there are hundreds of objects.
        cluster.kubectl("delete", "--raw", f"/apis/{api}/{kind}?labelSelector=test={namespace.namespace}")


@pytest.mark.long
def test_the_scheduler_gives_what_our_allocator_gives_or_refuses_with_it(
    cluster: Running, namespace: Kubectl, paper_node: str, mark: dict[str, str]
) -> None:
    if not cluster.cluster.release.at_least("1.36"):
        pytest.skip("the allocator answers as 1.36 and 1.37 do")
    cluster.kubectl("label", "namespace", namespace.namespace, "resource.kubernetes.io/admin-access=true")
    worlds = [World(each, paper_node, mark) for each in _problems(cluster.cluster.release)]
    namespace.apply([made for world in worlds for made in world.objects()])
    held = [made for world in worlds for made in world.held()]
    namespace.apply(held)
    namespace.apply_status(held)
    namespace.apply([world.pod() for world in worlds])
    pods = namespace.wait_until(("pods",), _all_decided, "a decision about every pod", timeout=300)["items"]
    claims = {each["metadata"]["name"]: each for each in namespace.items("resourceclaims")}
    decided = {each["metadata"]["name"]: each for each in pods}
    assert len(worlds) >= 50
    wanted = {world.seed: world.answer for world in worlds}
    assert {world.seed: world.found(decided[world.name], claims) for world in worlds} == wanted


class World:
    """A problem as objects. Its drivers and classes have names of their own, so that all problems fit into one cluster."""

    def __init__(self, recorded: Object, node: str, mark: dict[str, str]) -> None:
        self.seed: int = recorded["seed"]
        self.name = f"seed-{self.seed}"
        self.answer: str = recorded["answer"]
        text = json.dumps(recorded["problem"])
        for driver in ("a", "b"):
            text = text.replace(f"{driver}.x", f"{driver}{self.seed}.x")
        text = text.replace('"nodeName": "n"', f'"nodeName": "{node}"')  # The other one, "m", need not be there.
        self._problem: Object = json.loads(text)
        self._node, self._mark = node, mark

    def objects(self) -> Iterator[Object]:
        for made in self._problem["slices"]:
            yield self._object("ResourceSlice", made["metadata"]["name"], made["spec"], labels=self._mark)
        for made in self._problem["classes"]:
            own = f"device.driver in ['a{self.seed}.x', 'b{self.seed}.x']"
            selectors = [{"cel": {"expression": own}}, *made["spec"]["selectors"]]
            spec = made["spec"] | {"selectors": selectors}
            yield self._object("DeviceClass", made["metadata"]["name"], spec, labels=self._mark)
        for made in self._problem["claims"]:
            yield self._object("ResourceClaim", made["metadata"]["name"], self._with_own_classes(made["spec"]))

    def held(self) -> Iterator[Object]:
        """Claims of nobody that have what is allocated."""
        for number, result in enumerate(self._problem["allocated"]):
            exactly = {"deviceClassName": self._own("any"), "allocationMode": "ExactCount", "count": 1}
            spec = {"devices": {"requests": [{"name": result["request"], "exactly": exactly}]}}
            held = self._object("ResourceClaim", f"held-{number}", spec)
            yield held | {"status": {"allocation": {"devices": {"results": [result]}}}}

    def pod(self) -> Object:
        names = [made["metadata"]["name"] for made in self._problem["claims"]]
        claims = {name: self._own(name) for name in names}
        return pod(self.name, node=self._node, claims=claims, tolerations=[{"operator": "Exists"}])  # It is not ready.

    def found(self, decided: Object, claims: dict[str, Object]) -> str:
        """The scheduler's answer, written as ours."""
        own = [claims[self._own(made["metadata"]["name"])] for made in self._problem["claims"]]
        allocations = [each.get("status", {}).get("allocation") for each in own]
        if condition(decided, "PodScheduled"):
            return "; ".join(" ".join(map(self._write, each["devices"]["results"])) for each in allocations)
        return f"refused, but allocated: {allocations}" if any(allocations) else REFUSED

    def _write(self, result: Object) -> str:
        driver = result["driver"].replace(f"{self.seed}.x", ".x")
        signs = ("*" if result.get("adminAccess") else "") + ("%" if "shareID" in result else "")
        return f"{result['request']}={driver}/{result['pool']}/{result['device']}{signs}"

    def _object(self, kind: str, name: str, spec: Object, **metadata: Any) -> Object:
        named = {"name": self._own(name), **metadata}
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": named, "spec": spec}

    def _own(self, name: str) -> str:
        return f"{name}-{self.seed}"

    def _with_own_classes(self, spec: Object) -> Object:
        for request in spec["devices"]["requests"]:
            for each in request.get("firstAvailable", [request.get("exactly")]):
                each["deviceClassName"] = self._own(each["deviceClassName"])
        return spec


def _problems(release: Release) -> Iterator[Object]:
    """With the release's answers, by seed; alloc_test checks that ours are the same."""
    answers = (DATA / f"small-answers-{release.minor}.txt").read_text("utf-8").splitlines()
    for line in (DATA / "scheduler.jsonl").read_text("utf-8").splitlines():
        recorded = json.loads(line)
        devices = answers[recorded["seed"]].partition(" #")[0]
        yield recorded | {"answer": devices if "=" in devices else REFUSED}


def _all_decided(pods: Object) -> bool:
    def decided(each: Object) -> bool:
        return any(known["type"] == "PodScheduled" for known in each.get("status", {}).get("conditions", []))

    return all(decided(each) for each in pods["items"])
