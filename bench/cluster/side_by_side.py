"""Both drivers with the same node, API server and callers: start, memory, size, Prepare over the socket."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drivers
from api import RESOURCE, Api
from drivers import OURS, PEER, SHORT, Driver, Slices
from harness.kubectl import Object
from harness.lifecycle import Running
from harness.node import Node
from harness.places import TOP
from manifests import claim
from report import Row, percentile

GENERATOR = TOP / "build/release-bench/bin/socket_bench"
NAMESPACE = "default"
CALLERS = (1, 8)
_BOTH = (OURS, PEER)


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    starts: int
    rounds: int
    idle: float


def measure(running: Running, api: Api, peer: Path, amount: Amount) -> list[Row]:
    node = running.nodes[0]
    plugin = drivers.BIN / "tessera-kubelet-plugin"
    drivers.furnish(node, [plugin, drivers.BIN / "tessera-cdi-hook", peer, GENERATOR])
    slices = Slices(api)
    both = {name: Driver(name, node) for name in _BOTH}
    rows = _starts(both, slices, node, amount.starts)
    devices = {}
    for name, driver in both.items():
        driver.start(slices)
        devices[name] = slices.wait(name)[1]
    drivers.idle(amount.idle)
    rows += _memory(both) + _sizes(plugin, peer, running.cluster.dir)
    rows += _loads(running, api, node, devices, amount.rounds)
    for driver in both.values():
        driver.stop()
        slices.forget(driver.name)
    return rows


def _starts(both: dict[str, Driver], slices: Slices, node: Node, starts: int) -> list[Row]:
    """In turns. The first of each finds cold caches and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in both}
    entering = []
    for _ in range(starts + 1):
        entering.append(drivers.time_to_enter(node))
        for name, driver in both.items():
            times[name].append(driver.start(slices) * 1e3)
            driver.stop()
    ours, peer = (percentile(times[name][1:], 50) for name in _BOTH)
    return [
        Row("start to published slice, median", ours, "ms", "peer", peer),
        Row("  of that, entering the node (both)", percentile(entering[1:], 50) * 1e3, "ms"),
    ]


def _memory(both: dict[str, Driver]) -> list[Row]:
    ours, peer = (both[name].resident_kib() for name in _BOTH)
    floor = peer["driver"] / 1024
    return [
        Row("resident memory when idle, driver", ours["driver"] / 1024, "MiB", "peer", floor),
        Row("resident memory when idle, with the NVML hosts", sum(ours.values()) / 1024, "MiB", "peer", floor),
    ]


def _sizes(plugin: Path, peer: Path, scratch: Path) -> list[Row]:
    ours, theirs = (drivers.stripped_size(program, scratch) / 1e6 for program in (plugin, peer))
    return [Row("program, stripped", ours, "MB", "peer", theirs)]


def _loads(running: Running, api: Api, node: Node, devices: dict[str, list[str]], rounds: int) -> list[Row]:
    plan: list[Object] = []
    for name, offered in devices.items():
        made = [_allocated(running, api, name, node, device) for device in offered[: max(CALLERS)]]
        plan.append({"driver": SHORT[name], "socket": drivers.socket(name), "claims": made})
    options = {"kubeconfig": drivers.KUBECONFIG, "scratch": drivers.INSIDE, "rounds": rounds}
    words = [f"--{name}={value}" for name, value in options.items()] + [f"--callers={number}" for number in CALLERS]
    said = node.run(str(drivers.INSIDE / GENERATOR.name), *words, stdin=json.dumps(plan), timeout=1800)
    for driver in plan:
        for each in driver["claims"]:
            api.call("DELETE", f"{_claims_path()}/{each['name']}")
    found = {(each["driver"], each["callers"]): each for each in json.loads(said)}
    return [row for callers in CALLERS for row in _load_rows(callers, *(found[SHORT[name], callers] for name in _BOTH))]


def _load_rows(callers: int, ours: dict[str, Any], peer: dict[str, Any]) -> list[Row]:
    who = f"{callers} caller{'s' if callers > 1 else ''}"
    rows = [
        Row(f"{kind.capitalize()} {rank}, {who}", ours[kind][rank] / 1e3, "ms", "peer", peer[kind][rank] / 1e3)
        for kind in ("prepare", "unprepare")
        for rank in ("p50", "p99")
    ]
    ours_p50, peer_p50 = (times["prepare"]["p50"] / 1e3 for times in (ours, peer))
    rows.append(Row(f"Prepare p50, {who}", ours_p50, "ms", "GET + sync + call", ours["floor"]["p50"] / 1e3))
    rows.append(Row(f"Prepare of the peer p50, {who}", peer_p50, "ms", "GET + call", _without_sync(peer) / 1e3))
    return rows


def _without_sync(peer: dict[str, Any]) -> float:
    """The peer keeps nothing on disk."""
    return float(peer["get"]["p50"] + peer["call"]["p50"])


def _allocated(running: Running, api: Api, driver: str, node: Node, device: str) -> Object:
    """A claim that the API server holds as allocated; the part of the scheduler is played by us."""
    name = f"{SHORT[driver]}-{device}"
    made = api.call("POST", _claims_path(), claim(running.cluster.release, name, device_class=driver))
    result = {"request": "gpu", "driver": driver, "pool": node.name, "device": device}
    made["status"] = {"allocation": {"devices": {"results": [result]}}}
    api.call("PUT", f"{_claims_path()}/{name}/status", made)
    return {"namespace": NAMESPACE, "name": name, "uid": made["metadata"]["uid"]}


def _claims_path() -> str:
    return f"{RESOURCE}/namespaces/{NAMESPACE}/resourceclaims"
