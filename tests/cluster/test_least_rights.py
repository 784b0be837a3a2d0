"""The plugin's role is the least that works: the API server's audit log has a request for each right, and no refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import pytest

from harness import audit
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim
from patients import Illness, Patient, admit

pytestmark = pytest.mark.long
PLUGIN = "/usr/bin/tessera-kubelet-plugin"
ILL = Illness("NvlinkDown", "nvlink", strike=(("nvlink", "down", "--link=2"),), heal=(("nvlink", "up", "--link=2"),))
BACK_OFF = 180  # Seconds: a kubelet lets a container wait that other tests have killed before.
ROLE = ("clusterrole", "tessera-kubelet-plugin")
Right = tuple[str, str, str]  # Verb, API group, resource.
# The server's own question within another request, so no request shows it.
ASKED_INSIDE: Right = ("associated-node:patch", "resource.k8s.io", "resourceclaims/driver")


def rights_of(rule: Object) -> set[Right]:
    return {(verb, group, what) for verb in rule["verbs"] for group in rule["apiGroups"] for what in rule["resources"]}


def requests_since(running: Running, start: datetime) -> list[audit.Request]:
    """Of plugins. Other tests borrow their tokens, for kubectl."""
    found = audit.requests(running.cluster)
    return [each for each in found if each.at >= start and each.agent.startswith("tessera-kubelet-plugin/")]


def used(requests: list[audit.Request]) -> set[Right]:
    """With success. Paths that are no objects are open to everybody."""
    objects = [each for each in requests if not each.resource.startswith("/")]
    return {(each.verb, each.group, each.resource) for each in objects if each.status < 300}


def slices_of(running: Running, node: Node) -> dict[str, Object]:
    """By UID."""
    found = running.kubectl.items("resourceslices")
    return {each["metadata"]["uid"]: each for each in found if each["spec"].get("nodeName") == node.name}


def restart_plugin(node: Node) -> None:
    node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")


def lose_slices(running: Running, node: Node) -> None:
    """As when a kubelet starts. The plugin creates others."""
    lost = slices_of(running, node)
    running.kubectl.delete("resourceslices", *(each["metadata"]["name"] for each in lost.values()))
    wait_for("other slices", lambda: slices_of(running, node).keys() - lost.keys())


def leave_a_stray_slice(running: Running, node: Node) -> None:
    """As after a crash between two. The plugin deletes it."""
    made = next(iter(slices_of(running, node).values()))
    pool = {**made["spec"]["pool"], "name": "stray"}
    running.kubectl.create({**made, "metadata": {"name": "stray"}, "spec": {**made["spec"], "pool": pool}})
    wait_for("it is gone", lambda: "stray" not in running.kubectl("get", "resourceslices", "--output=name"))


def be_ill(patient: Patient) -> None:
    with patient.suffers(ILL):
        wait_for("the device is avoided", lambda: patient.is_avoided(ILL), BACK_OFF)
    patient.wait_until_well()


def be_ill_again(patient: Patient, start: datetime) -> None:
    """What is told again is counted in the Event that is there, at most once a minute."""

    def is_counted() -> bool:
        be_ill(patient)
        return ("patch", "", "events") in used(requests_since(patient.running, start))

    wait_for("an Event that counts", is_counted, 180)


def test_every_right_of_the_plugin_is_used_and_none_is_missing(installed: Running, namespace: Kubectl) -> None:
    start, node = datetime.now(timezone.utc), installed.nodes[0]
    patient = admit(installed, namespace, node, claim(installed.cluster.release, "shared"))
    lose_slices(installed, node)
    leave_a_stray_slice(installed, node)
    restart_plugin(node)
    be_ill(patient)
    be_ill_again(patient, start)

    seen = requests_since(installed, start)
    granted = set().union(*(rights_of(rule) for rule in installed.kubectl.get(*ROLE)["rules"]))
    assert used(seen) == granted - {ASKED_INSIDE}
    assert [str(each) for each in seen if each.status in (401, 403)] == []


@contextmanager
def without(running: Running, right: Right) -> Iterator[None]:
    """The plugin's role lacks it for as long as this lasts."""
    role = running.kubectl.get(*ROLE)
    del role["metadata"]["resourceVersion"]
    rules = [rule for rule in role["rules"] if right not in rights_of(rule)]
    running.kubectl("replace", "-f", "-", stdin=json.dumps({**role, "rules": rules}))
    try:
        yield
    finally:
        running.kubectl("replace", "-f", "-", stdin=json.dumps(role))


def test_the_right_that_no_request_shows_is_needed_from_1_36_on(installed: Running, namespace: Kubectl) -> None:
    patient = admit(installed, namespace, installed.nodes[0], claim(installed.cluster.release, "shared"))
    with without(installed, ASKED_INSIDE), patient.suffers(ILL):
        start = datetime.now(timezone.utc)
        restart_plugin(patient.node)  # On 1.32, which keeps no conditions, it tries once.

        def answers() -> set[int]:
            seen = requests_since(installed, start)
            return {each.status for each in seen if each.resource == "resourceclaims/status"}

        answered = wait_for("a condition is written", answers, BACK_OFF)
    assert answered == {422 if installed.cluster.release.at_least("1.36") else 200}  # 422: the content is refused.
