"""What the driver asked of the API server: the API server's own audit log, of service accounts in the driver's namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from harness.layout import Cluster
from harness.places import DRIVER_NAMESPACE

_FILE = "audit.log"
_MEGABYTES = 16  # Then it is renamed; one older file is kept. A request takes about 1 kB.


@dataclass(frozen=True)
class Request:
    """One that was answered, or a watch that was begun."""

    at: datetime
    agent: str  # The client's word for itself.
    verb: str
    group: str
    resource: str  # With its subresource; a path where there is none.
    status: int

    def __str__(self) -> str:
        return f"{self.verb} {self.group}/{self.resource}: {self.status}"


def write_policy(cluster: Cluster) -> None:
    """Who, what and how it went; not the objects. Nothing of all others."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "userGroups": [f"system:serviceaccounts:{DRIVER_NAMESPACE}"]}, {"level": "None"}],
    }
    _policy(cluster).write_text(yaml.safe_dump(policy), encoding="utf-8")


def flags(cluster: Cluster) -> list[str]:
    """Of the API server. It writes a line before it answers: what a client has seen is in the log."""
    return [
        f"--audit-policy-file={_policy(cluster)}",
        f"--audit-log-path={cluster.log / _FILE}",
        "--audit-log-mode=blocking",
        f"--audit-log-maxsize={_MEGABYTES}",
        "--audit-log-maxbackup=1",
    ]


def requests(cluster: Cluster) -> Iterator[Request]:
    """In no certain order; a watch may come twice."""
    for file in cluster.log.glob(f"{Path(_FILE).stem}*.log"):
        for line in file.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n"):  # The last may be half written.
                yield _request(json.loads(line))


def _request(event: dict[str, Any]) -> Request:
    what = event.get("objectRef", {})
    parts = [what[part] for part in ("resource", "subresource") if part in what]
    return Request(
        at=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        group=what.get("apiGroup", ""),
        resource="/".join(parts) or event["requestURI"],
        status=event["responseStatus"]["code"],
    )


def _policy(cluster: Cluster) -> Path:
    return cluster.dir / "audit-policy.yaml"
