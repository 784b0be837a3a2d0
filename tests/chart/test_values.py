"""The schema, the values and the README say the same, and wrong values are named."""

import importlib.machinery
import importlib.util
import json
import re
import subprocess
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import yaml
from chart import CHART, ROOT, refusal, render

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())

# Values, and the path that Helm must name.
WRONG = {
    "a misspelt value": ({"nvidiaDriverRot": "/"}, "nvidiaDriverRot"),
    "a misspelt value, deeper": ({"kubeletPlugin": {"toleration": []}}, "/kubeletPlugin"),
    "a misspelt feature gate": ({"featureGates": {"MPSSuport": True}}, "MPSSuport"),
    "a number for a switch": ({"resources": {"gpus": {"enabled": 1}}}, "/resources/gpus/enabled"),
    "a text for a switch": ({"featureGates": {"AllBeta": "true"}}, "/featureGates/AllBeta"),
    "a relative path": ({"nvidiaDriverRoot": "run/nvidia/driver"}, "/nvidiaDriverRoot"),
    "a map for a list": ({"kubeletPlugin": {"tolerations": {"key": "a"}}}, "/kubeletPlugin/tolerations"),
    "a tag in the repository": ({"image": {"repository": "example.com/tessera:1.0"}}, "/image/repository"),
    "a digest that is none": ({"image": {"digest": "sha256:12"}}, "/image/digest"),
    "an unknown pull policy": ({"image": {"pullPolicy": "always"}}, "/image/pullPolicy"),
    "a verbosity out of range": ({"logVerbosity": 11}, "/logVerbosity"),
    "a lease that is no time": ({"health": {"lease": "soon"}}, "/health/lease"),
    "an unknown API version": ({"resourceApiVersion": "v1"}, "/resourceApiVersion"),
    "a port out of range": ({"kubeletPlugin": {"networkPolicy": {"apiServerPorts": [70000]}}}, "/apiServerPorts/0"),
    "a subject without a name": ({"personas": {"clusterAdmin": {"subjects": [{"kind": "User"}]}}}, "/subjects/0"),
}


def generator() -> ModuleType:
    """tools/chart-readme as a module; it has no suffix."""
    loader = importlib.machinery.SourceFileLoader("chart_readme", str(ROOT / "tools/chart-readme"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def at(values: Any, path: str) -> Any:
    for key in path.split("."):
        values = values[key]
    return values


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_by_its_path(name: str) -> None:
    values, path = WRONG[name]
    message = refusal(values)
    assert "values don't meet the specifications of the schema" in message
    assert path in message


def test_values_are_the_schemas_defaults() -> None:
    defaults = {p: leaf["default"] for p, leaf in generator().leaves(SCHEMA) if "default" in leaf}
    assert {p: at(VALUES, p) for p in defaults} == defaults


def test_every_value_is_in_the_schema_with_its_default() -> None:
    known = {p for p, leaf in generator().leaves(SCHEMA) if "default" in leaf}

    def unknown(values: dict[str, Any], path: str = "") -> Iterator[str]:
        for key, value in values.items():
            here = f"{path}{key}"
            if here in known:
                continue
            if not (isinstance(value, dict) and value):
                yield here
            else:
                yield from unknown(value, here + ".")

    assert list(unknown(VALUES)) == []


def test_the_readme_is_current() -> None:
    result = subprocess.run([ROOT / "tools/chart-readme", "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_readme_names_what_is_rendered() -> None:
    everything = yaml.safe_load((CHART.parents[2] / "tests/chart/values/everything.yaml").read_text())
    everything["openshift"] = {"scc": "always"}
    readme = (CHART / "README.md").read_text().split("## What it installs")[1].split("### The pod")[0]
    for kind in {kind.removesuffix("Binding") for kind, _ in render(everything)}:
        assert kind in readme, f"{kind} is rendered, and the README does not say when"


def test_feature_gates_are_the_plugins() -> None:
    source = (ROOT / "src/cmd/tessera-kubelet-plugin/feature_gates.cc").read_text()
    gates = dict(re.findall(r'Gate\{"(\w+)", (true|false)\}', source))
    assert set(SCHEMA["properties"]["featureGates"]["properties"]) == set(gates)
    for gate, served in gates.items():
        if served == "true":
            render({"featureGates": {gate: True}})
        else:
            assert f"not served yet: {gate}" in refusal({"featureGates": {gate: True}})


def test_the_charts_version_is_the_programs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (version,) = re.findall(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
