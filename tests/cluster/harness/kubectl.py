"""kubectl of the cluster's own release, and the few things tests ask it for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import ClusterError, run
from harness.waiting import wait_for

Object = dict[str, Any]
Manifest = str | Object | Sequence[Object]


@dataclass(frozen=True)
class Kubectl:
    """Acts in one namespace, as the user of one kubeconfig."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = 120) -> str:
        cache = f"--cache-dir={self.kubeconfig.parent / 'kubectl'}"  # Of what the server can do: dies with the cluster.
        argv = [str(self.program), cache, f"--namespace={self.namespace}", *words]
        return run(argv, stdin=stdin, env={**os.environ, "KUBECONFIG": str(self.kubeconfig)}, timeout=timeout)

    def in_namespace(self, namespace: str) -> Kubectl:
        return Kubectl(self.program, self.kubeconfig, namespace)

    def apply(self, manifest: Manifest) -> None:
        """YAML text, one object or several."""
        self("apply", "--server-side", "-f", "-", stdin=as_yaml(manifest))

    def apply_status(self, manifest: Manifest) -> None:
        self("apply", "--server-side", "--subresource=status", "-f", "-", stdin=as_yaml(manifest))

    def create(self, made: Object) -> None:
        """For what is named by the API server; apply() cannot."""
        self("create", "-f", "-", stdin=as_yaml(made))

    def refusal(self, manifest: Manifest) -> str:
        """What the API server says against this manifest; an error when it takes it."""
        try:
            self.apply(manifest)
        except ClusterError as error:
            return str(error)
        raise ClusterError("the API server took what it should have refused")

    def get(self, *what: str) -> Object:
        """One object, or a List for several."""
        found: Object = json.loads(self("get", "-o", "json", *what))
        return found

    def items(self, *what: str) -> list[Object]:
        found: list[Object] = self.get(*what)["items"]
        return found

    def delete(self, *what: str, wait: bool = True) -> None:
        self("delete", "--ignore-not-found", f"--wait={str(wait).lower()}", *what)

    def exec(self, pod: str, *command: str, container: str | None = None) -> str:
        chosen = [f"--container={container}"] if container else []
        return self("exec", pod, *chosen, "--", *command)

    def logs(self, pod: str, *options: str) -> str:
        return self("logs", pod, *options)

    def wait_for_pod(self, name: str, *, phase: str = "Running", timeout: float = 90) -> Object:
        """The pod, once it is in this phase and, when running, ready."""
        return self.wait_until(("pod", name), lambda pod: _is_settled(pod, phase), f"pod {name} {phase}", timeout)

    def wait_until(
        self, what: Sequence[str], holds: Callable[[Object], bool], promise: str, timeout: float = 60
    ) -> Object:
        def look() -> Object | None:
            found = self.get(*what)
            return found if holds(found) else None

        return wait_for(promise, look, timeout)


def as_yaml(manifest: Manifest) -> str:
    if isinstance(manifest, str):
        return manifest
    return str(yaml.safe_dump_all([manifest] if isinstance(manifest, dict) else list(manifest)))


def condition(found: Object, kind: str) -> bool:
    conditions = found.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def _is_settled(pod: Object, phase: str) -> bool:
    if pod.get("status", {}).get("phase") != phase:
        return False
    return phase != "Running" or condition(pod, "Ready")
