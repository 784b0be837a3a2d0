"""`tessera lint` against the API server itself: it calls an error what the server refuses, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from harness.errors import ClusterError
from harness.kubectl import Kubectl, Object, as_yaml
from harness.lifecycle import Running
from harness.places import PROGRAMS, TOP

CASES = sorted((TOP / "tests/lint/cases").glob("*.yaml"))
LONG = {"server_rules"}  # 150 documents, a call of kubectl each.
OURS = {"BadDeviceConfig", "ConfigKindMismatch"}  # What the driver refuses, and not the server.


@dataclass(frozen=True)
class Judged:
    """One document, and the codes of what lint says about it."""

    document: Object
    errors: set[str]
    others: set[str]

    @property
    def metadata(self) -> Object:
        found: Object = self.document.get("metadata") or {}
        return found

    def is_refused(self) -> bool:
        return bool(self.errors - OURS) and (self.metadata.get("labels") or {}).get("server") != "takes"

    def depends_on_the_cluster(self) -> bool:
        """Gates and versions that are off by default may be on here; a namespace may have the label that is asked for."""
        return bool(self.others & {"GateOff", "VersionOff", "AdminAccess"})


def judge(case: Path, minor: str) -> list[Judged]:
    command = [str(PROGRAMS / "tessera"), "lint", "-o", "json", f"--k8s={minor}", str(case)]
    findings = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["findings"]
    judged = []
    for number, document in enumerate(yaml.safe_load_all(case.read_text()), start=1):
        said = [each for each in findings if each["document"] == number]
        errors, others = (
            {each["code"] for each in said if (each["severity"] == "error") == is_error} for is_error in (True, False)
        )
        judged.append(Judged(document, errors, others))
    return judged


def refusal(kubectl: Kubectl, document: Object) -> str | None:
    """As `kubectl create` does it; nothing is made."""
    try:
        kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=as_yaml(document))
    except ClusterError as error:
        # Names are looked up last: an object that is there already, as our chart's classes are, has passed all rules.
        return None if "(AlreadyExists)" in str(error) else str(error)
    return None


def compare(kubectl: Kubectl, one: Judged) -> str | None:
    said = refusal(kubectl, one.document)
    if (said is not None) == one.is_refused():
        return None
    return f"{one.document['kind']} {one.metadata.get('name')}: lint {one.errors or 'is content'}, the server: {said or 'takes it'}"


@pytest.fixture
def judged(cluster: Running, namespace: Kubectl, case: Path) -> Iterator[list[Judged]]:
    """A case, and the namespaces that it brings. What names another is put into the test's own."""
    if not cluster.cluster.release.at_least("1.34"):
        pytest.skip("lint knows 1.34 and later")
    found = judge(case, cluster.cluster.release.minor)
    made = [one.document for one in found if one.document["kind"] == "Namespace"]
    for each in made:
        namespace("apply", "-f", "-", stdin=as_yaml(each))
    names = {each["metadata"]["name"] for each in made}
    for one in found:
        if one.metadata.get("namespace", namespace.namespace) not in names:
            one.metadata["namespace"] = namespace.namespace
    yield [one for one in found if one.document not in made]
    for each in made:
        cluster.kubectl.delete("namespace", each["metadata"]["name"])  # To its end: the next run makes it again.


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=each.stem, marks=[pytest.mark.long] * (each.stem in LONG)) for each in CASES]
)
def test_the_server_refuses_what_lint_calls_an_error_and_takes_the_rest(namespace: Kubectl, judged: list[Judged]) -> None:
    differences = []
    for one in judged:
        if one.depends_on_the_cluster():
            continue
        where = namespace.in_namespace(one.metadata["namespace"]) if "namespace" in one.metadata else namespace
        differences.append(compare(where, one))
    assert [each for each in differences if each] == []
