"""Devices in use that fall ill, and everybody who should then know: pods, claim, slices, Events, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from events import said_about
from gpu_view import devices_on, look
from harness import driver
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import pod
from plugin_http import series_of
from simulator import simulate

_PATIENCE = 90  # Seconds. A kubelet shows what it knows when it next looks at the pod.
_DOMAIN = "gpu.nvidia.com/"


@dataclass(frozen=True)
class Illness:
    """What happens to a GPU, as commands of the simulator, and under which names it becomes known."""

    code: str
    taint: str  # Its key, without the domain.
    strike: tuple[tuple[str, ...], ...] = ()
    heal: tuple[tuple[str, ...], ...] = ()
    usable: bool = False  # The device is only degraded.
    verdict: str = ""  # Somebody judges, instead of the GPU telling; `{uuid}` is the device's.
    repaired: bool = False  # No signal tells of the cure: somebody has to.


@dataclass(frozen=True)
class Patient:
    """A device, a claim that holds it, and the pods that share the claim."""

    running: Running
    namespace: Kubectl
    node: Node
    name: str
    uuid: str
    claim: str
    pods: tuple[str, ...]

    @contextmanager
    def suffers(self, illness: Illness, gpu: str | None = None) -> Iterator[None]:
        """Ill for as long as this lasts. `gpu`: of a MIG device, the UUID of its GPU."""
        self._simulate(illness.strike, gpu)
        if illness.verdict:
            self._judge(illness.verdict)
        try:
            yield
        finally:
            self._simulate(illness.heal, gpu)
            if illness.verdict:
                self.node.run("rm", f"{driver.VERDICTS}/{self.claim}.yaml")
            if illness.repaired:
                self._judge("{{device: {uuid}, state: healthy, reason: repaired}}")

    def _simulate(self, commands: tuple[tuple[str, ...], ...], gpu: str | None) -> None:
        for command, *words in commands:
            simulate(self.node, command, f"--gpu={gpu or self.uuid}", *words)

    def _judge(self, verdict: str) -> None:
        """Written under a hidden name and renamed: nobody reads half of it."""
        hidden = f"{driver.VERDICTS}/.{self.claim}"
        self.node.run("tee", hidden, stdin=verdict.format(uuid=self.uuid))
        self.node.run("mv", hidden, f"{driver.VERDICTS}/{self.claim}.yaml")

    def is_avoided(self, illness: Illness) -> bool:
        """Tainted, or not offered: a GPU that does not answer leaves the slice, and so does any where taints are dropped."""
        taints = taints_on(self.running, self.node)
        if self.name not in taints:
            return not illness.usable
        wanted = taints_are_kept(self.running) and (not illness.usable or informs(self.running))
        return illness.taint in taints[self.name] if wanted else illness.usable and not taints[self.name]

    def wait_until_everybody_knows(self, illness: Illness) -> None:
        wait_for("the device is avoided", lambda: self.is_avoided(illness), _PATIENCE)
        if shows_health(self.running):
            for name in self.pods:
                wait_for(f"{name} is told", lambda: self._is_told(name, illness), _PATIENCE)
        if keeps_conditions(self.running):
            wanted = ("True" if illness.usable else "False", illness.code)
            wait_for(f"the condition is {wanted}", lambda: self._condition("status", "reason") == wanted)
        for kubectl, name in ((self.namespace, self.claim), (self.running.kubectl, self.node.name)):
            wait_for(f"{illness.code} on {name}", lambda: any(self.name in said for said in said_about(kubectl, illness.code, name)))
        series = f'tessera_device_health_reason{{device="{self.name}",reason="{illness.code}",'
        wait_for("the metric", lambda: any(each.startswith(series) for each in series_of(self.running, self.node)))

    def wait_until_well(self) -> None:
        wait_for("it is offered without taints", lambda: taints_on(self.running, self.node).get(self.name) == set(), _PATIENCE)
        if shows_health(self.running):
            for name in self.pods:
                wait_for(f"{name} is told", lambda: self._told_to(name) == [("Healthy", "")], _PATIENCE)
        if keeps_conditions(self.running):
            wait_for("the condition is over", lambda: self._condition("status", "message") == ("True", ""))

    def _told_to(self, name: str) -> list[tuple[str, str]]:
        """Health and message of each device, as the pod's status has them."""
        (status,) = self.namespace.get("pod", name)["status"]["containerStatuses"]
        devices = [each for found in status.get("allocatedResourcesStatus", []) for each in found["resources"]]
        return [(device["health"], device.get("message", "")) for device in devices]

    def _is_told(self, name: str, illness: Illness) -> bool:
        told = self._told_to(name)
        expected = "Healthy" if illness.usable else "Unhealthy"
        words = f"{illness.code}:" if self.running.cluster.release.at_least("1.36") else ""  # Messages came then.
        return len(told) == 1 and told[0][0] == expected and words in told[0][1]

    def _condition(self, *fields: str) -> tuple[str, ...]:
        """Of the claim's `Healthy`; empty before there is one."""
        devices = self.namespace.get("resourceclaim", self.claim)["status"].get("devices", [])
        found = [each for device in devices for each in device.get("conditions", []) if each["type"] == "Healthy"]
        return tuple(found[0].get(field, "") for field in fields) if found else ()


def admit(running: Running, namespace: Kubectl, node: Node, wanted: Object) -> Patient:
    """Two pods that share this claim.

    They call it by its own name: 1.34 shows health under no other. They start one after the other: a kubelet before 1.36
    that prepares a claim for both at once lists its device twice, and the API server refuses that pod status.
    """
    claim = wanted["metadata"]["name"]
    pods = tuple(f"{claim}-{number}" for number in (1, 2))
    namespace.apply(wanted)
    for each in pods:
        namespace.apply(pod(each, node=node.name, claims={claim: claim}))
        namespace.wait_for_pod(each, timeout=180)
    (result,) = namespace.get("resourceclaim", claim)["status"]["allocation"]["devices"]["results"]
    seen = look(namespace, pods[0])
    (uuid,) = seen.mig or seen.products
    return Patient(running, namespace, node, result["device"], uuid, claim, pods)


def taints_on(running: Running, node: Node) -> dict[str, set[str]]:
    """Keys, without the domain, by device."""
    offered = devices_on(running, node.name)
    return {each["name"]: {taint["key"].removeprefix(_DOMAIN) for taint in each.get("taints", [])} for each in offered}


def taints_are_kept(running: Running) -> bool:
    release = running.cluster.release
    return release.at_least("1.36") or "DRADeviceTaints=true" in release.feature_gates


def informs(running: Running) -> bool:
    """Whether there are taints that only inform."""
    return running.cluster.release.at_least("1.35")


def shows_health(running: Running) -> bool:
    """In the status of pods. 1.35 does so only for claims of templates."""
    release = running.cluster.release
    return release.at_least("1.36") or "ResourceHealthStatus=true" in release.feature_gates


def keeps_conditions(running: Running) -> bool:
    """In the status of claims."""
    return running.cluster.release.at_least("1.33")
