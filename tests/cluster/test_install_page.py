"""docs/install.md, done from top to bottom as an administrator would, each output compared with what the page shows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness import driver, programs
from harness.image import TEST_IMAGE
from harness.kubectl import as_yaml
from harness.lifecycle import Running
from harness.node import FILES
from harness.places import TOP
from manifests import claim
from page import File, Script, matches, rows, steps

PAGE = TOP / "docs/install.md"
TEXT = PAGE.read_text(encoding="utf-8")
VALUES = "tessera-values.yaml"
WORKLOAD_IMAGE = "docker.io/library/ubuntu:24.04"  # As containerd completes the page's name.
SELECTORS = rows(TEXT, "Wanted", "Selector", "Printed elsewhere, refused")


def test_the_api_server_takes_each_selector(cluster: Running) -> None:
    claims = [
        claim(cluster.cluster.release, f"wanted-{number}", selectors=[selector])
        for number, (_, selector, _) in enumerate(SELECTORS)
    ]
    taken = cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=as_yaml(claims))
    assert taken.count("created (server dry run)") == len(SELECTORS)


@pytest.mark.parametrize("expression", [refused for _, _, refused in SELECTORS if refused])
def test_the_api_server_refuses_what_the_page_says_it_does(cluster: Running, expression: str) -> None:
    refusal = cluster.kubectl.refusal(claim(cluster.cluster.release, "wanted", selectors=[expression]))
    assert "compilation failed" in refusal


@pytest.fixture
def bare(cluster: Running) -> Iterator[Running]:
    """The cluster before anybody installed the driver. Other tests find it afterwards as it was."""
    if not cluster.cluster.release.at_least("1.34"):
        pytest.skip("the page's manifests are of resource.k8s.io/v1")
    given = _remove_driver(cluster) if driver.is_installed(cluster) else None
    yield cluster
    if given:
        driver.upgrade(cluster, given)
    cluster.kubectl.delete("namespace", "demo", wait=False)  # The page's; it is there when the page has failed.


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Where the page's commands run: its files come here, so not the tree itself."""
    (tmp_path / "deploy").symlink_to(TOP / "deploy")
    return tmp_path


@pytest.mark.long
def test_every_command_of_the_page_does_what_the_page_says(bare: Running, checkout: Path) -> None:
    for node in bare.nodes:
        node.tag_image(TEST_IMAGE, WORKLOAD_IMAGE)
        node.put(driver.image_archive())
    for step in steps(TEXT):
        if isinstance(step, File):
            (checkout / step.name).write_text(_adapted(step), encoding="utf-8")
        elif step.since is None or bare.cluster.release.at_least(step.since):
            for argv in _commands(bare, step):
                _check(step, argv, _environment(bare, checkout), checkout)


def _remove_driver(cluster: Running) -> str:
    """Returns the values to install it with again."""
    given = driver.current_values(cluster)
    driver.uninstall(cluster)
    cluster.kubectl.delete("deviceclass", "gpu.nvidia.com", "mig.nvidia.com")
    cluster.kubectl.delete("namespace", driver.NAMESPACE)
    return given


def _adapted(file: File) -> str:
    """As it stands on the page; what is simulated needs to be told where its /sys and /proc are."""
    if file.name != VALUES:
        return file.text
    given = yaml.safe_load(file.text)
    assert "kubeletPlugin" not in given
    return str(yaml.safe_dump({**given, "kubeletPlugin": driver.values("any:1")["kubeletPlugin"]}))


def _commands(running: Running, script: Script) -> list[list[str]]:
    shell = ["bash", "-euo", "pipefail", "-c", script.text]
    if not script.on_nodes:
        return [shell]
    return [[*node.enter_command(), "env", f"--chdir={FILES}", *shell] for node in running.nodes]


def _environment(running: Running, folder: Path) -> dict[str, str]:
    path = [running.cluster.kubernetes, programs.ensure(programs.HELM), os.environ["PATH"]]
    home = {name: str(folder / "helm") for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
    return {"PATH": ":".join(map(str, path)), "KUBECONFIG": str(running.cluster.kubeconfig), "HOME": str(folder), **home}


def _check(script: Script, argv: list[str], env: dict[str, str], folder: Path) -> None:
    done = subprocess.run(
        argv,
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    said = f"{PAGE}:{script.line}\n{script.text}exit status {done.returncode}, printed:\n{done.stdout}"
    if (done.returncode != 0) != script.fails:
        pytest.fail(said, pytrace=False)
    if script.prints is not None and not matches(script.prints, done.stdout):
        pytest.fail(f"{said}but the page shows:\n{script.prints}", pytrace=False)
