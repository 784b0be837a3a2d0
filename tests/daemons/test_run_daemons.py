"""`tessera run` with the real docker and nerdctl: on a machine of their own, which has simulated GPUs and no Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from harness import cgroups, gpus, workstation
from harness.node import Node
from harness.places import DAEMONS, SIMULATOR
from harness.releases import find_release
from harness.waiting import wait_for
from local_run import Tool, home
from manifests import claim


@dataclass(frozen=True)
class Client:
    """A runtime as `tessera run` calls it, and the program that it is."""

    runtime: str
    program: str


CLIENTS = (Client("docker", "docker"), Client("containerd", "nerdctl"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Node]:
    with workstation.running(DAEMONS, "dgx-h100", SIMULATOR) as node:
        yield node


@pytest.fixture(params=CLIENTS, ids=lambda client: client.program)
def client(request: pytest.FixtureRequest) -> Client:
    given: Client = request.param
    return given


@pytest.fixture
def tool(machine: Node, client: Client) -> Iterator[Tool]:
    with tool_of(machine, client) as made:
        yield made
    assert containers(made) == []


@contextmanager
def tool_of(machine: Node, client: Client) -> Iterator[Tool]:
    options = (
        f"--volume={gpus.DRIVER_ROOT / gpus.STATE}:/{gpus.STATE}:ro",  # What the simulated driver in the container reads.
        "--network=none",
        f"--cgroup-parent={cgroups.node_root(machine.cluster, machine.spec)}",
    )
    with home(machine, client.program, claim(find_release(""), "by-hand")) as folder:
        yield Tool(machine, folder, client.runtime, options, {"CONTAINERD_NAMESPACE": "k8s.io"})  # It has the image.


def program_of(tool: Tool) -> str:
    return next(client.program for client in CLIENTS if client.runtime == tool.runtime)


def ask(tool: Tool, *words: str) -> str:
    """Of the runtime's own program."""
    variables = (f"{name}={value}" for name, value in tool.variables.items())
    return tool.node.run("env", *variables, program_of(tool), *words)


def containers(tool: Tool) -> list[str]:
    return ask(tool, "ps", "--all", "--quiet", "--no-trunc").split()


def test_its_container_has_one_gpu_and_its_exit_code_is_the_commands(tool: Tool) -> None:
    done = tool.run("sh", "-c", "nvidia-smi -L; ls -d /dev/nvidia[0-9]*; exit 7")
    assert done.returncode == 7, done.stderr
    listed, *nodes = done.stdout.splitlines()
    assert listed.startswith("GPU 0: NVIDIA H100") and nodes == ["/dev/nvidia0"]


def test_two_at_once_have_different_gpus(tool: Tool) -> None:
    with tool.holding() as first, tool.holding() as second:
        assert "UUID: GPU-" in first and "UUID: GPU-" in second
        assert first != second
        assert len(containers(tool)) == 2


def test_the_container_of_a_run_that_was_killed_is_stopped_by_the_next(tool: Tool) -> None:
    with tool.holding("") as first:
        (left,) = containers(tool)
        tool.kill("KILL")
        assert left in containers(tool), "otherwise this test shows nothing"
        wait_for("the next run has its GPU", lambda: first == tool.run("nvidia-smi", "-L").stdout)
        assert left not in containers(tool)


def test_a_container_that_has_ended_with_its_run_is_in_nobodys_way(tool: Tool) -> None:
    with tool.holding("") as first:
        (left,) = containers(tool)
        tool.kill("KILL")
        ask(tool, "rm", "--force", left)
        wait_for("the next run has its GPU", lambda: first == tool.run("nvidia-smi", "-L").stdout)


@pytest.fixture
def nerdctl(machine: Node) -> Iterator[Tool]:
    with tool_of(machine, CLIENTS[1]) as made:
        yield made


def test_a_container_that_nerdctl_cannot_remove_keeps_its_gpu(nerdctl: Tool) -> None:
    """`nerdctl rm --force` says what went wrong, and then that all went well."""
    with nerdctl.holding("") as first:
        (left,) = containers(nerdctl)
        nerdctl.kill("KILL")
        records = nerdctl.node.run("find", "/var/lib/nerdctl", "-type", "d", "-path", f"*/containers/k8s.io/{left}").strip()
        with spoilt(nerdctl.node, records):
            assert "UUID: GPU-" in (second := nerdctl.run("nvidia-smi", "-L").stdout)
            assert second != first and left in nerdctl.node.run("ctr", "--namespace=k8s.io", "tasks", "list", "--quiet").split()
        wait_for("the next run has its GPU", lambda: first == nerdctl.run("nvidia-smi", "-L").stdout)
        assert left not in containers(nerdctl)


@contextmanager
def spoilt(node: Node, folder: str) -> Iterator[None]:
    """A file stands in the folder's place."""
    node.run("sh", "-c", f"mv {folder} {folder}.away && touch {folder}")
    try:
        yield
    finally:
        node.run("sh", "-c", f"rm {folder} && mv {folder}.away {folder}")


@pytest.fixture
def docker_without_cdi(machine: Node) -> Iterator[Tool]:
    settings = machine.cluster.node_dir(machine.spec) / "etc/docker/daemon.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"features": {"cdi": False}}), encoding="ascii")
    with tool_of(machine, CLIENTS[0]) as made:
        restart_docker(machine)
        yield made
    settings.unlink()
    restart_docker(machine)


def restart_docker(machine: Node) -> None:
    machine.service("dockerd").restart()
    workstation.wait_for_docker(machine)


def test_docker_with_cdi_turned_off_is_refused(docker_without_cdi: Tool) -> None:
    done = docker_without_cdi.run("true")
    assert done.returncode == 125
    assert "[RuntimeWithoutCdi]" in done.stderr and "Docker 28.2 or newer" in done.stderr
    assert containers(docker_without_cdi) == []


@pytest.fixture
def docker_at_rest(machine: Node) -> Iterator[Tool]:
    machine.service("dockerd").stop()
    with tool_of(machine, CLIENTS[0]) as made:
        yield made
    machine.service("dockerd").start()
    workstation.wait_for_docker(machine)


def test_docker_that_is_not_running_is_told(docker_at_rest: Tool) -> None:
    done = docker_at_rest.run("true")
    assert done.returncode == 125
    assert "[RuntimeSilent]" in done.stderr and "is its daemon running?" in done.stderr
