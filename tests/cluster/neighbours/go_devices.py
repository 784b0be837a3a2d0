"""A node's devices, as a release of the Go driver names, publishes and records them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import yaml

from harness.errors import run
from harness.kubectl import Object
from harness.node import Node
from harness.places import PROGRAMS
from neighbours.go_releases import GoRelease

_BUS_ID = "resource.kubernetes.io/pciBusID"
_ATTRIBUTES = frozenset(
    "type uuid parentUUID profile productName brand architecture cudaComputeCapability driverVersion cudaDriverVersion "
    f"addressingMode {_BUS_ID} resource.kubernetes.io/pcieRoot resource.kubernetes.io/numaNode".split()
)


@dataclass(frozen=True)
class GoDevice:
    name: str
    new_name: str  # As all releases after it, and Tessera, call it.
    minor: int
    gpu_uuid: str
    bus_id: str
    mig: Object | None
    published: Object  # Attributes and capacities.


def find_devices(node: Node, release: GoRelease) -> list[GoDevice]:
    hardware = json.loads(_look(node, "json"))["devices"]
    slices = yaml.safe_load_all(_look(node, "slices"))
    published = {device["name"]: device for each in slices for device in each["spec"]["devices"]}
    return [_device(release, found, published[found["name"]]) for found in hardware]


def _device(release: GoRelease, found: Object, published: Object) -> GoDevice:
    gpu, mig = found["gpu"], found.get("mig")
    name = found["name"]
    if mig and not release.profile_in_names:
        name = f"gpu-{gpu['minor']}-mig-{mig['profileID']}-{mig['placementStart']}-{mig['placementSize']}"
    attributes = {key: value for key, value in published["attributes"].items() if key in _ATTRIBUTES}
    if not release.standard_bus_id:
        attributes["pcieBusID"] = attributes.pop(_BUS_ID)
    return GoDevice(
        name=name,
        new_name=found["name"],
        minor=gpu["minor"],
        gpu_uuid=gpu["uuid"],
        bus_id=gpu["pciBusID"],
        mig=mig,
        published={"attributes": attributes, "capacity": published["capacity"]},
    )


def record(release: GoRelease, device: GoDevice, helper_device: Object, *, vfio: bool) -> Object:
    """What the checkpoint holds of a prepared device. `vfio`: of a GPU that is passed through."""
    if vfio:
        return {"vfio": {"info": {"uuid": device.gpu_uuid, "pciBusID": device.bus_id}, "device": helper_device}}
    if device.mig is None:
        return {"gpu": {"info": {"uuid": device.gpu_uuid}, "device": helper_device}}
    if not release.mig_tuple:
        return {"mig": {"info": {"uuid": device.mig["uuid"]}, "device": helper_device}}
    tuple_: dict[str, Any] = {
        "parentMinor": device.minor,
        "giId": device.mig["gpuInstance"],
        "ciId": device.mig["computeInstance"],
        "migUUID": device.mig["uuid"],
        "parentUUID": device.gpu_uuid,
        "parentPCIBusID": device.bus_id,
    }
    return {"mig": {"concrete": tuple_, "device": helper_device}}


def _look(node: Node, form: str) -> str:
    root = node.driver_root
    places = [f"--driver-root={root}", f"--sysfs-root={root / 'sys'}", f"--node-name={node.name}"]
    return run([PROGRAMS / "tessera", "devices", *places, f"--output={form}"])
