"""Renders the chart as `helm template` does, without a cluster."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
Objects = dict[tuple[str, str], Object]  # By kind and name.
Values = dict[str, Any] | Path | None

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/helm/tessera"
HERE = Path(__file__).resolve().parent


def program(name: str, variable: str, advice: str) -> str:
    """A program the tests cannot do without: absent is a failure, not a skip."""
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        raise RuntimeError(f"{name} is not in PATH, and {variable} is not set: {advice}")
    return found


def helm() -> str:
    return program("helm", "HELM", "go install helm.sh/helm/v3/cmd/helm@v3.22.0")


def promtool() -> str:
    return program("promtool", "PROMTOOL", "tools/setup chart")


@dataclass
class Cluster:
    """What Helm would learn from the cluster. A Helm made by `go install` knows no default version."""

    version: str = "1.37.1"
    apis: list[str] = field(default_factory=list)


def run_helm(
    command: list[str], values: Values, cluster: Cluster, namespace: str
) -> subprocess.CompletedProcess[str]:
    arguments = [helm(), *command, "--namespace", namespace, "--kube-version", cluster.version]
    text = None
    if isinstance(values, Path):
        arguments += ["--values", str(values)]
    elif values is not None:
        arguments += ["--values", "-"]
        text = yaml.safe_dump(values)
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=False, timeout=60)


def template(
    values: Values = None, cluster: Cluster | None = None, namespace: str = "tessera", release: str = "tessera"
) -> subprocess.CompletedProcess[str]:
    cluster = cluster or Cluster()
    command = ["template", release, str(CHART)]
    for api in cluster.apis:
        command += ["--api-versions", api]
    return run_helm(command, values, cluster, namespace)


def render_text(*arguments: Any, **keywords: Any) -> str:
    result = template(*arguments, **keywords)
    assert result.returncode == 0, result.stderr
    return result.stdout


def render(*arguments: Any, **keywords: Any) -> Objects:
    documents = [d for d in yaml.safe_load_all(render_text(*arguments, **keywords)) if d]
    identities = {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents}
    assert len(identities) == len(documents), "an object is rendered twice"
    return {(d["kind"], d["metadata"]["name"]): d for d in documents}


def refusal(*arguments: Any, **keywords: Any) -> str:
    """What Helm says of values that it does not take."""
    result = template(*arguments, **keywords)
    assert result.returncode != 0, "these values were taken"
    return result.stderr


def one(objects: Objects, kind: str) -> Object:
    found = [o for (k, _), o in objects.items() if k == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def pod(objects: Objects) -> Object:
    return one(objects, "DaemonSet")["spec"]["template"]["spec"]


def container(objects: Objects) -> Object:
    (only,) = pod(objects)["containers"]
    return only


def environment(objects: Objects) -> dict[str, str]:
    """Variables with a text of their own."""
    return {e["name"]: e["value"] for e in container(objects)["env"] if "value" in e}
