"""Pods with our driver, with the peer, and without claims: start latency, churn, an upgrade under load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import histograms
import yaml
from api import Api, now
from drivers import OURS, PEER, SHORT
from harness import driver
from harness.errors import ClusterError
from harness.kubectl import Object
from harness.lifecycle import Running
from histograms import Histogram
from manifests import claim_template
from pods import NONE, Pods, Start
from report import Row, percentile

NAMESPACE = "default"
WITH = SHORT[OURS]
AT_ONCE = 8  # As many as the node has GPUs.
_BLOCKS = 4  # A churn comes in so many parts, in turns with the one it is compared with.
_CALM = "no upgrade"
_METRICS_PORT = 8080  # The chart's.


def prepare(running: Running) -> Pods:
    """The driver through its chart; device class and templates, named as the arms."""
    driver.install(running)
    release = running.cluster.release
    selector = {"cel": {"expression": f"device.driver == '{PEER}'"}}
    device_class: Object = {
        "apiVersion": release.resource_api,
        "kind": "DeviceClass",
        "metadata": {"name": PEER},
        "spec": {"selectors": [selector]},
    }
    templates = [claim_template(release, SHORT[name], device_class=name) for name in (OURS, PEER)]
    running.kubectl.in_namespace(NAMESPACE).apply([device_class, *templates])
    return Pods(Api(running.cluster), NAMESPACE)


def start_latency(pods: Pods, count: int) -> list[Row]:
    """One pod at a time, arms in turns, and each round begins with another arm."""
    arms = [NONE, WITH, SHORT[PEER]]
    times: dict[str, list[Start]] = {arm: [] for arm in arms}
    for arm in arms:
        pods.start(arm)  # Caches; not counted.
    for number in range(count):
        turn = number % len(arms)
        for arm in arms[turn:] + arms[:turn]:
            times[arm].append(pods.start(arm))
    rows = []
    for against in (NONE, SHORT[PEER]):
        rows += [_compare("pod start, one at a time", times, against, percent) for percent in (50, 95)]
        rows.append(_compare("pod bound to its node, one at a time", times, against, 50, _bound))
    return rows


def churn(running: Running, api: Api, pods: Pods, count: int) -> tuple[list[Row], list[Start]]:
    """What Kubernetes' DRA scale test does on 100 nodes, on one: every GPU in use, pods end and others follow.

    Also returns the starts with our driver.
    """
    times: dict[str, list[Start]] = {WITH: [], NONE: []}
    wall = dict.fromkeys(times, 0.0)
    ours = kubelets = Histogram(0, 0, {})
    block = max(1, count // _BLOCKS)
    for _ in range(_BLOCKS):
        for arm in times:
            before, begin = (_our_prepares(running, api), _kubelet_prepares(running, api)), now()
            times[arm] += pods.churn(arm, AT_ONCE, lambda started: started < block)
            wall[arm] += now() - begin
            if arm == WITH:
                ours += _our_prepares(running, api) - before[0]
                kubelets += _kubelet_prepares(running, api) - before[1]
    spent = sum(each.runs for each in times[WITH])
    pods_done = len(times[WITH])
    what = f"churn of {pods_done} pods"
    rows = [
        Row(f"{what}: wall time", wall[WITH], "s", "no claims", wall[NONE]),
        Row(f"{what}: pods a second", pods_done / wall[WITH], "1/s", "no claims", pods_done / wall[NONE]),
        *(_compare(f"{what}: start", times, NONE, percent) for percent in (50, 95)),
        _compare(f"{what}: bound to its node", times, NONE, 50, _bound),
        Row(f"{what}: Prepare, mean, as the plugin counts", 1e3 * _mean(ours), "ms"),
        Row(f"{what}: Prepare, mean, as the kubelet counts", 1e3 * _mean(kubelets), "ms"),
        Row(f"{what}: our share of pod start time", 100 * ours.seconds / spent, "%"),
    ]
    return rows, times[WITH]


def upgrade(running: Running, api: Api, pods: Pods, calm: list[Start]) -> list[Row]:
    """The chart's rolling update while pods churn; the load ends after the update. `calm`: the same without update."""
    given = yaml.safe_load(driver.current_values(running))
    given["kubeletPlugin"]["podAnnotations"] = {"tessera.test/upgrade": "bench"}
    before = _kubelet_prepares(running, api), _kubelet_prepares(running, api, failed=True)
    with ThreadPoolExecutor(1) as pool:
        updating = pool.submit(driver.upgrade, running, yaml.safe_dump(given))
        starts = pods.churn(WITH, AT_ONCE, lambda _: not updating.done())
        updating.result()
    done = _kubelet_prepares(running, api) - before[0]
    failed = _kubelet_prepares(running, api, failed=True) - before[1]
    what = f"upgrade under load, {len(starts)} pods"
    times = {WITH: starts, _CALM: calm}
    return [
        *(_compare(f"{what}: start", times, _CALM, percent) for percent in (50, 100)),
        _compare(f"{what}: bound to its node", times, _CALM, 50, _bound),
        Row(f"{what}: longest Prepare, at most", done.at_most() * 1e3, "ms"),
        Row(f"{what}: failed Prepares", failed.count, ""),
    ]


def _runs(start: Start) -> float:
    return start.runs


def _bound(start: Start) -> float:
    return start.bound


def _compare(
    name: str,
    times: dict[str, list[Start]],
    against: str,
    percent: int,
    moment: Callable[[Start], float] = _runs,
) -> Row:
    """Pods with our driver against others, in milliseconds."""
    ours, theirs = (percentile([moment(start) for start in times[arm]], percent) * 1e3 for arm in (WITH, against))
    rank = "longest" if percent == 100 else f"p{percent}"
    return Row(f"{name}, {rank}", ours, "ms", "no claims" if against == NONE else against, theirs)


def _mean(histogram: Histogram) -> float:
    return histogram.seconds / histogram.count if histogram.count else 0.0


def _our_prepares(running: Running, api: Api) -> Histogram:
    (plugin,) = _plugin_pods(running)
    path = f"/api/v1/namespaces/{driver.NAMESPACE}/pods/{plugin}:{_METRICS_PORT}/proxy/metrics"
    text = api.text("GET", path)
    return histograms.read(text, "tessera_request_duration_seconds", method="prepare", phase="total")


def _kubelet_prepares(running: Running, api: Api, *, failed: bool = False) -> Histogram:
    """The series that Kubernetes' page for administrators of DRA recommends."""
    text = api.text("GET", f"/api/v1/nodes/{running.nodes[0].name}/proxy/metrics")
    wanted = {"operation_name": "PrepareResources", "is_error": str(failed).lower()}
    return histograms.read(text, "dra_operations_duration_seconds", **wanted)


def _plugin_pods(running: Running) -> Sequence[str]:
    found = running.kubectl.in_namespace(driver.NAMESPACE).items("pods")
    names = [each["metadata"]["name"] for each in found if "deletionTimestamp" not in each["metadata"]]
    if len(names) != 1:
        raise ClusterError(f"one pod of the plugin is expected on one node; found: {', '.join(names) or 'none'}")
    return names
