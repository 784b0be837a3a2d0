"""What both sides are asked, as files that both read: clusters of 8, 800 and 8,000 GPUs, claims, expressions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FULL_NODES = "full nodes"
ONE_POOL = "one pool"
SIZES = (8, 800, 8000)
ON_A_NODE = 8
IN_A_SLICE = 64  # Of the 128 that a slice may have.
DRIVER = "gpu.nvidia.com"
MODEL = "NVIDIA H100 80GB HBM3"
ROOT = "resource.kubernetes.io/pcieRoot"

GPU_CLASS = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
THIS_MODEL = f"device.attributes['{DRIVER}'].productName == '{MODEL}'"
OTHER_MODEL = f"device.attributes['{DRIVER}'].productName == 'NVIDIA B200'"
ENOUGH_MEMORY = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"

EXPRESSIONS = (
    GPU_CLASS,
    THIS_MODEL,
    ENOUGH_MEMORY,
    f"device.attributes['{DRIVER}'].driverVersion.isGreaterThan(semver('560.35.3'))",
    f"device.attributes['{DRIVER}'].productName.matches('^NVIDIA (H100|H200|B200)')",
    f"device.attributes['{DRIVER}'].?architecture.orValue('') in ['Hopper', 'Blackwell']",
    f"device.attributes['{DRIVER}'].productName.lowerAscii().contains('h100')",
    f"device.attributes['resource.kubernetes.io'].exists(name, name == 'pcieRoot')"
    f" && cel.bind(gpu, device.attributes['{DRIVER}'], gpu.index < 4 && gpu.brand != 'GeForce')",
)


@dataclass(frozen=True)
class Question:
    name: str
    count: int
    selectors: tuple[str, ...]
    same_root: bool = False


QUESTIONS = (
    Question("one GPU", 1, (THIS_MODEL, ENOUGH_MEMORY)),
    Question("four under one PCIe root", 4, (THIS_MODEL, ENOUGH_MEMORY), same_root=True),
    Question("unsatisfiable: a model nobody has", 1, (OTHER_MODEL,)),
    Question("unsatisfiable: five under one PCIe root", 5, (THIS_MODEL, ENOUGH_MEMORY), same_root=True),
)


@dataclass(frozen=True)
class Allocation:
    """One question to one cluster."""

    layout: str
    gpus: int
    question: str
    file: Path


def write(folder: Path) -> list[Allocation]:
    """Every allocation's file, and `cel.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    first = _slice("node-0", 0, [_gpu(0)], 1) | {"metadata": {"name": "a"}}
    _write(folder / "cel.json", {"expressions": EXPRESSIONS, "slice": first})
    return list(_write_allocations(folder))


def _write_allocations(folder: Path) -> Iterator[Allocation]:
    for layout, cluster in ((FULL_NODES, _full_nodes), (ONE_POOL, _one_pool)):
        for gpus in SIZES:
            nodes, objects = cluster(gpus)
            for number, question in enumerate(QUESTIONS):
                file = folder / f"{layout.replace(' ', '-')}-{gpus}-{number}.json"
                problem = {"node": {"metadata": {"name": nodes[0]}}, "classes": [_class()], **objects}
                _write(file, {"nodes": nodes, "problem": problem | {"claims": [_claim(question)]}})
                yield Allocation(layout, gpus, question.name, file)


def _full_nodes(gpus: int) -> tuple[list[str], Json]:
    """Eight GPUs a node, and all are held but those of the last node: the scheduler asks each."""
    nodes = [f"node-{n}" for n in range(gpus // ON_A_NODE)]
    slices = [_slice(node, 0, [_gpu(i) for i in range(ON_A_NODE)], 1, nodeName=node) for node in nodes]
    held = [
        {"request": "gpu", "driver": DRIVER, "pool": node, "device": f"gpu-{i}"}
        for node in nodes[:-1]
        for i in range(ON_A_NODE)
    ]
    return nodes, {"slices": slices, "allocated": held}


def _one_pool(gpus: int) -> tuple[list[str], Json]:
    """All GPUs are free, and one node reaches them all."""
    parts = [range(start, min(start + IN_A_SLICE, gpus)) for start in range(0, gpus, IN_A_SLICE)]
    slices = [_slice("fabric", n, [_gpu(i) for i in part], len(parts), allNodes=True) for n, part in enumerate(parts)]
    return ["node-0"], {"slices": slices, "allocated": []}


def _slice(pool: str, part: int, devices: list[Json], parts: int, **reach: Any) -> Json:
    whole = {"name": pool, "generation": 1, "resourceSliceCount": parts}
    return {
        "metadata": {"name": f"{pool}-{part:04}"},
        "spec": {"driver": DRIVER, "pool": whole, "devices": devices, **reach},
    }


def _gpu(index: int) -> Json:
    """Four GPUs share a PCIe root; neighbours do not."""
    root = f"pci{index // ON_A_NODE:04x}:{index % 2}0"
    attributes: Json = {
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-{index:08x}-0000-4000-8000-000000000000"},
        "productName": {"string": MODEL},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "index": {"int": index % ON_A_NODE},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": "570.158.1"},
        "cudaDriverVersion": {"version": "12.8.0"},
        ROOT: {"string": root},
    }
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}}}


def _class() -> Json:
    return {"metadata": {"name": DRIVER}, "spec": {"selectors": [_cel(GPU_CLASS)]}}


def _cel(expression: str) -> Json:
    return {"cel": {"expression": expression}}


def _claim(question: Question) -> Json:
    exactly = {
        "deviceClassName": DRIVER,
        "allocationMode": "ExactCount",
        "count": question.count,
        "selectors": [_cel(each) for each in question.selectors],
    }
    devices: Json = {"requests": [{"name": "gpu", "exactly": exactly}]}
    if question.same_root:
        devices["constraints"] = [{"matchAttribute": ROOT}]
    return {"metadata": {"name": "c", "namespace": "default", "uid": "u"}, "spec": {"devices": devices}}


def _write(file: Path, value: Json) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")
