"""DeviceClasses belong to the release that made them: how they come from the Go driver's chart to ours.

In the orders of the chart's README. The Go driver's chart is one with the same name and the same classes; nothing else of it
matters here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness import driver
from harness.errors import ClusterError
from harness.lifecycle import Running
from harness.places import CHART

pytestmark = pytest.mark.long
THEIRS = "nvidia-dra-driver-gpu"  # Chart, release and namespace.
KINDS = ("gpu", "mig")


def chart(running: Running, folder: Path) -> Path:
    """With the classes as long as its GPUs are enabled."""
    classes = [
        {
            "apiVersion": running.cluster.release.resource_api,
            "kind": "DeviceClass",
            "metadata": {"name": f"{kind}.nvidia.com"},
            "spec": {"selectors": [{"cel": {"expression": f"device.attributes['gpu.nvidia.com'].type == '{kind}'"}}]},
        }
        for kind in KINDS
    ]
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": THEIRS, "version": "0.4.1"}), "ascii")
    (folder / "values.yaml").write_text(yaml.safe_dump({"resources": {"gpus": {"enabled": True}}}), "ascii")
    text = "{{- if .Values.resources.gpus.enabled }}\n" + yaml.safe_dump_all(classes) + "{{- end }}\n"
    (folder / "templates/deviceclasses.yaml").write_text(text, "ascii")
    return folder


def uids(running: Running) -> list[str]:
    classes = running.kubectl.items("deviceclasses")
    return [each["metadata"]["uid"] for each in classes if each["metadata"]["name"].endswith(".nvidia.com")]


def helm(running: Running, *words: str, stdin: str | None = None) -> str:
    return driver.helm(running, *words, f"--namespace={THEIRS}", stdin=stdin)


@pytest.fixture
def given(installed: Running) -> str:
    """The values of our release."""
    return driver.current_values(installed)


@pytest.fixture
def theirs(installed: Running, given: str, tmp_path: Path) -> Iterator[Path]:
    """The chart. Its release is there, and ours is not; afterwards it is the other way round."""
    folder = chart(installed, tmp_path / THEIRS)
    driver.uninstall(installed)
    try:
        installed.kubectl.delete("deviceclass", *(f"{kind}.nvidia.com" for kind in KINDS))
        helm(installed, "install", THEIRS, str(folder), "--create-namespace")
        yield folder
    finally:
        helm(installed, "uninstall", THEIRS, "--ignore-not-found", "--wait")
        driver.upgrade(installed, given, "--take-ownership")


def test_adopted_classes_stay_when_the_go_drivers_gpus_are_switched_off_and_its_release_goes(
    installed: Running, given: str, theirs: Path
) -> None:
    before = uids(installed)
    assert len(before) == len(KINDS)
    with pytest.raises(ClusterError, match="cannot be imported into the current release"):
        driver.deploy(installed, given)
    driver.upgrade(installed, given, "--take-ownership")
    helm(installed, "upgrade", THEIRS, str(theirs), "--reuse-values", "--set=resources.gpus.enabled=false")
    assert uids(installed) == before
    helm(installed, "uninstall", THEIRS, "--wait")
    assert uids(installed) == before


def test_classes_that_went_with_the_go_drivers_release_are_made_again_by_an_upgrade(
    installed: Running, given: str, theirs: Path
) -> None:
    before = uids(installed)
    driver.upgrade(installed, given, "--take-ownership")
    assert uids(installed) == before
    helm(installed, "uninstall", THEIRS, "--wait")
    assert uids(installed) == []
    driver.upgrade(installed, given)
    made = uids(installed)
    assert len(made) == len(KINDS) and set(made).isdisjoint(before)


def test_the_go_drivers_release_becomes_ours_and_goes_back_with_its_classes(
    installed: Running, given: str, theirs: Path
) -> None:
    before = uids(installed)
    wait = ("--wait", "--timeout=120s")
    helm(installed, "upgrade", THEIRS, str(CHART), "--values=-", *wait, stdin=given)
    driver.wait_for_slices(installed)
    assert uids(installed) == before
    helm(installed, "rollback", THEIRS, *wait)
    assert helm(installed, "list", "--output=yaml").count(f"chart: {theirs.name}-") == 1
    assert uids(installed) == before
