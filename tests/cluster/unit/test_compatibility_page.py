"""docs/compatibility.md names what is pinned here and every reason to skip."""

from __future__ import annotations

import re

from harness import programs
from harness.places import TOP
from harness.releases import RELEASES
from page import rows

PAGE = (TOP / "docs/compatibility.md").read_text(encoding="utf-8")
SKIP = re.compile(r'pytest\.skip\(\s*(?P<reason>.*?),?\s*\)', re.DOTALL)


def test_each_release_has_one_row() -> None:
    table = rows(PAGE, "Kubernetes", "resource.k8s.io", "Result", "Date")
    assert [row[0] for row in table] == [release.version for release in RELEASES]


def test_the_versions_are_those_that_are_built() -> None:
    table = {part: version for part, version, _ in rows(PAGE, "Part", "Version", "From")}
    assert programs.RUNTIME.version == f"etcd-{table['etcd']}+containerd-{table['containerd']}"
    assert programs.HELM.version == table["Helm"]
    for recipe in (programs.DOCKER, programs.NERDCTL):
        assert recipe.version == f"{recipe.name}-{table[f'{recipe.name}, for `make run-daemons` alone']}"


def test_every_reason_to_skip_is_told() -> None:
    told = {row[3] for row in rows(PAGE, "From", "What", "Before", "A test that is skipped says")}
    sources = (file.read_text(encoding="utf-8") for file in (TOP / "tests/cluster").glob("test_*.py"))
    reasons = {found["reason"].strip('"') for source in sources for found in SKIP.finditer(source)}
    assert reasons
    assert reasons - told == set()
