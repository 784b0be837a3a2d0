"""What is rendered, byte for byte. UPDATE_GOLDEN=1 rewrites the files; review them as a diff."""

import os

import pytest
from chart import CHART, HERE, Cluster, render_text, run_helm

CASES = {
    "defaults": (None, Cluster()),
    "go-driver": ("go-driver.yaml", Cluster()),
    "guide": ("guide.yaml", Cluster("1.34.10")),
    "everything": ("everything.yaml", Cluster()),
    "openshift": ("openshift.yaml", Cluster("1.34.10", ["security.openshift.io/v1"])),
    "kubernetes-1.32": ("kubernetes-1.32.yaml", Cluster("1.32.2")),
}


def render_case(name: str) -> str:
    file, cluster = CASES[name]
    return render_text(HERE / "values" / file if file else None, cluster)


@pytest.mark.parametrize("name", CASES)
def test_renders_as_recorded(name: str) -> None:
    golden = HERE / "golden" / f"{name}.yaml"
    text = render_case(name)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", CASES)
def test_rendering_twice_gives_no_difference(name: str) -> None:
    assert render_case(name) == render_case(name)


@pytest.mark.parametrize("name", CASES)
def test_helm_lint_finds_nothing(name: str) -> None:
    file, cluster = CASES[name]
    values = HERE / "values" / file if file else None
    result = run_helm(["lint", "--strict", str(CHART)], values, cluster, "tessera")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[WARNING]" not in result.stdout
