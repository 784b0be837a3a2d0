"""What a container really sees of its GPUs: asked from inside, never from the API."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running

_GPU = re.compile(r"GPU \d+: (?P<product>.+) \(UUID: (?P<uuid>GPU-[0-9a-f-]+)\)")
_MIG = re.compile(r" +MIG (?P<profile>\S+) +Device +\d+: \(UUID: (?P<uuid>MIG-[0-9a-f-]+)\)")
_PER_GPU = re.compile(r"nvidia\d+")


@dataclass(frozen=True)
class View:
    """As `nvidia-smi -L`, /dev and the environment of the container's own process say."""

    products: dict[str, str]  # UUID → product.
    mig: dict[str, str]  # UUID → profile.
    nodes: frozenset[str]  # Names in /dev that belong to one GPU.
    controls: frozenset[str]  # The other nvidia nodes in /dev.
    environment: dict[str, str]


def look(kubectl: Kubectl, pod: str, container: str = "main") -> View:
    """Whatever its devices are: it has their nodes and no others, and no old runtime adds GPUs by the environment."""
    view = view_of(lambda *command: kubectl.exec(pod, *command, container=container))
    assert len(view.nodes) == len(view.products), view
    assert view.environment["NVIDIA_VISIBLE_DEVICES"] == "void", view
    return view


def view_of(ask: Callable[..., str]) -> View:
    """`ask` runs a command in the container and returns what it printed."""
    listed = ask("nvidia-smi", "-L")
    names = ask("sh", "-c", "cd /dev && ls -d nvidia*").split()
    variables = ask("cat", "/proc/1/environ").split("\0")
    nodes = frozenset(name for name in names if _PER_GPU.fullmatch(name))
    return View(
        products={found["uuid"]: found["product"] for found in _GPU.finditer(listed)},
        mig={found["uuid"]: found["profile"] for found in _MIG.finditer(listed)},
        nodes=nodes,
        controls=frozenset(names) - nodes,
        environment=dict(variable.split("=", 1) for variable in variables if variable),
    )


def allocated(running: Running, claim: Object) -> dict[str, Object]:
    """The devices that the scheduler gave to a claim, by name, with their attributes as published."""
    results = claim["status"]["allocation"]["devices"]["results"]
    chosen = {(result["pool"], result["device"]) for result in results}
    found: dict[str, Object] = {}
    for published in running.kubectl.items("resourceslices"):
        for device in devices_of(published):
            if (published["spec"]["pool"]["name"], device["name"]) in chosen:
                found[device["name"]] = device["attributes"]
    return found


def devices_on(running: Running, node: str) -> list[Object]:
    """What the node offers, in the order it was published."""
    slices = [each for each in running.kubectl.items("resourceslices") if each["spec"].get("nodeName") == node]
    return [device for each in slices for device in devices_of(each)]


def devices_of(published: Object) -> list[Object]:
    """In the form of v1: v1beta1 says null for none, and has one level more."""
    return [{"name": each["name"], **each.get("basic", each)} for each in published["spec"].get("devices") or []]
