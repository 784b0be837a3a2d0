"""The API server without kubectl: a call takes a millisecond instead of 100, and a watch says when, not only what."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from harness.errors import ClusterError
from harness.kubectl import Object
from harness.layout import Cluster

RESOURCE = "/apis/resource.k8s.io/v1"
_TIMEOUT = 30.0
_WATCH_TIMEOUT = 3600.0
_LONGEST_IDLE = 45.0  # The API server closes connections that are idle for longer than 90 s.
_LONGEST = 4 << 20  # Bytes of an answer, or of one line of a watch.


def now() -> float:
    """Seconds since the machine's boot: what /proc/uptime says, in containers as well."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Api:
    """The cluster's administrator. Each thread has a connection of its own, kept open."""

    def __init__(self, cluster: Cluster) -> None:
        self._port = cluster.port
        self._tls = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
        self._tls.load_cert_chain(str(cluster.pki / "admin.crt"), str(cluster.pki / "admin.key"))
        self._kept = threading.local()

    def connect(self, timeout: float = _TIMEOUT) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=timeout, context=self._tls)
        connection.connect()
        return connection

    def text(self, method: str, path: str, body: Object | None = None) -> str:
        """The answer's body. An answer over 299 is an error, and so is one that does not come."""
        connection = self._connection()
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read(_LONGEST).decode()
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # The next request opens it again.
            raise ClusterError(f"{method} {path}: {error}") from error
        if answer.status > 299:
            raise ClusterError(f"{method} {path}: {answer.status}: {said[:1000]}")
        return said

    def call(self, method: str, path: str, body: Object | None = None) -> Object:
        answer: Object = json.loads(self.text(method, path, body))
        return answer

    def _connection(self) -> http.client.HTTPSConnection:
        """The calling thread's."""
        if now() - getattr(self._kept, "used", float("-inf")) > _LONGEST_IDLE:
            self._kept.connection = self.connect()
        self._kept.used = now()
        kept: http.client.HTTPSConnection = self._kept.connection
        return kept


class Watch:
    """Follows a list of objects; `see(object, gone, time)` is called for each change."""

    def __init__(self, api: Api, path: str, see: Callable[[Object, bool, float], None]) -> None:
        self._see = see
        self._changed = threading.Condition()
        self._failure = ""
        listed = api.call("GET", path)
        version = listed["metadata"]["resourceVersion"]
        self._connection = api.connect(_WATCH_TIMEOUT)
        self._connection.request("GET", f"{path}?watch=1&resourceVersion={version}")
        self._answer = self._connection.getresponse()
        threading.Thread(target=self._follow, name=f"watch {path}", daemon=True).start()

    def wait(self, what: str, holds: Callable[[], bool], timeout: float) -> None:
        """Until `holds()`, which is asked after each change; what see() changes may be read in it."""
        with self._changed:
            held = self._changed.wait_for(lambda: bool(self._failure) or holds(), timeout)
            if self._failure or not held:
                raise ClusterError(f"{what}: {self._failure or f'not within {timeout:.0f} s'}")

    def _follow(self) -> None:
        try:
            while line := self._answer.readline(_LONGEST):
                self._take(json.loads(line))
            self._fail("the API server ended the watch")
        except (OSError, ValueError, http.client.HTTPException) as error:
            self._fail(f"the watch broke: {error}")

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            raise ValueError(str(event["object"])[:1000])
        seen = now()
        with self._changed:
            self._see(event["object"], event["type"] == "DELETED", seen)
            self._changed.notify_all()

    def _fail(self, why: str) -> None:
        with self._changed:
            self._failure = why
            self._changed.notify_all()
