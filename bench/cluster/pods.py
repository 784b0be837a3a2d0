"""Pods that start, say when, and end: how long each took from its creation to the first instruction of its container."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from api import Api, Watch, now
from harness.errors import ClusterError
from harness.kubectl import Object
from manifests import pod

NONE = "none"  # The arm without claims. Others are named after their ResourceClaimTemplate.
# /proc/uptime is the same in containers; the kubelet puts this file into the pod's status.
_SAY_WHEN = ["sh", "-c", "cut -d' ' -f1 /proc/uptime > /dev/termination-log"]
_PATIENCE = 300.0


@dataclass(frozen=True)
class Start:
    """Seconds after the pod's creation."""

    bound: float  # The scheduler's decision was seen.
    runs: float  # The container's process ran. The kernel counts this in hundredths.


class Pods:
    """Starts pods in one namespace. Any number of threads may."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._numbers = itertools.count(1)
        self._bound: dict[str, float] = {}
        self._seen: dict[str, Object] = {}
        self._watch = Watch(api, self._path, self._see)

    def start(self, arm: str) -> Start:
        """One pod's whole life. When this returns it is gone."""
        name = f"{arm}-{next(self._numbers)}"
        made = pod(name, command=_SAY_WHEN, templates={} if arm == NONE else {"gpu": arm})
        begin = now()
        self._api.call("POST", self._path, made)
        self._watch.wait(f"pod {name} ends", lambda: _phase(self._seen.get(name)) in ("Succeeded", "Failed"), _PATIENCE)
        found = self._seen[name]
        if _phase(found) == "Failed":
            raise ClusterError(f"pod {name} failed: {found['status']}")
        self._api.call("DELETE", f"{self._path}/{name}")
        self._watch.wait(f"pod {name} is gone", lambda: name not in self._seen, _PATIENCE)
        return Start(self._bound[name] - begin, _said(found) - begin)

    def churn(self, arm: str, workers: int, more: Callable[[int], bool]) -> list[Start]:
        """So many at once, each replaced by the next, while `more(started so far)`."""
        numbers, lock = itertools.count(), threading.Lock()

        def wanted() -> bool:
            with lock:
                return more(next(numbers))

        def work() -> list[Start]:
            self._api.call("GET", "/version")  # Connects, before anything is timed.
            return list(self._while(wanted, arm))

        with ThreadPoolExecutor(workers) as pool:
            running = [pool.submit(work) for _ in range(workers)]
            return [start for each in running for start in each.result()]

    def _while(self, wanted: Callable[[], bool], arm: str) -> Iterator[Start]:
        while wanted():
            yield self.start(arm)

    def _see(self, found: Object, gone: bool, seen: float) -> None:
        name = found["metadata"]["name"]
        if gone:
            self._seen.pop(name, None)
            return
        self._seen[name] = found
        if found["spec"].get("nodeName"):
            self._bound.setdefault(name, seen)


def _phase(found: Object | None) -> str:
    return str(found["status"].get("phase", "")) if found else ""


def _said(found: Object) -> float:
    (status,) = found["status"]["containerStatuses"]
    return float(status["state"]["terminated"]["message"])
