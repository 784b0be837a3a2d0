"""`tessera run` on a node of a cluster: a container of containerd's, beside pods, and never with a pod's GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from gpu_view import devices_on, look
from harness import gpus
from harness.image import TEST_IMAGE
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.node import Node
from harness.places import PROGRAMS
from harness.waiting import wait_for
from manifests import claim, pod

# As containerd's base spec has it for pods: what the simulated driver in the container reads.
STATE = f"type=bind,src={gpus.DRIVER_ROOT / gpus.STATE},dst=/{gpus.STATE},options=rbind:ro"


@dataclass(frozen=True)
class Tool:
    """The programs on a node that has no other files of ours, and a claim for one GPU."""

    node: Node
    home: str

    def command(self, *command: str) -> list[str]:
        run = [f"{self.home}/tessera", "run", "-f", f"{self.home}/claim.yaml", "--runtime=ctr", f"--image={TEST_IMAGE}"]
        where = [*self.node.enter_command(), "env", "CONTAINERD_NAMESPACE=k8s.io"]
        return [*where, *run, f"--runtime-option=--mount={STATE}", "--", *command]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*command), capture_output=True, text=True, timeout=120, check=False)

    @contextmanager
    def holding(self) -> Iterator[str]:
        """A run that lasts; gives the one line that `nvidia-smi -L` printed in it."""
        stay = self.command("sh", "-c", "nvidia-smi -L; trap 'exit 0' TERM; while :; do sleep 1; done")
        with subprocess.Popen(stay, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline()
            finally:
                self.kill("TERM")
                process.wait(60)

    def kill(self, signal: str) -> None:
        """All runs of this home; that there is none is no error."""
        self.node.run("sh", "-c", f"pkill -{signal} -f '^{self.home}/tessera run' || test $? -eq 1")


@pytest.fixture
def tool(installed: Running, namespace: Kubectl) -> Iterator[Tool]:
    node, folder = installed.nodes[0], f"var/tmp/{namespace.namespace}"
    home = installed.cluster.node_dir(node.spec) / folder
    home.mkdir(parents=True)
    for program in ("tessera", "tessera-cdi-hook"):
        shutil.copy(PROGRAMS / program, home)
    wanted = claim(installed.cluster.release, "by-hand")
    (home / "claim.yaml").write_text(json.dumps(wanted), encoding="utf-8")
    yield Tool(node, f"/{folder}")
    shutil.rmtree(home)


def test_its_container_has_one_gpu_and_its_exit_code_is_the_commands(tool: Tool) -> None:
    done = tool.run("sh", "-c", "nvidia-smi -L; ls -d /dev/nvidia[0-9]*; exit 7")
    assert done.returncode == 7, done.stderr
    listed, *nodes = done.stdout.splitlines()
    assert listed.startswith("GPU 0: NVIDIA H100") and nodes == ["/dev/nvidia0"]


def test_pods_get_the_others_and_all_when_it_has_ended(tool: Tool, installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, tool.node.name
    everything = len(devices_on(installed, node))
    with tool.holding() as listed:
        assert "UUID: GPU-" in listed
        # Tainted, or not offered where taints are dropped. The scheduler knows nothing else of runs.
        wait_for("it is avoided", lambda: free_on(installed, node) == everything - 1)
        namespace.apply([claim(release, "rest", count=everything - 1), pod("rest", node=node, claims={"gpu": "rest"})])
        namespace.wait_for_pod("rest")
        seen = look(namespace, "rest")
        assert len(seen.products) == everything - 1 and not any(uuid in listed for uuid in seen.products)
        namespace.delete("pod", "rest")
        namespace.apply([claim(release, "all", count=everything), pod("all", node=node, claims={"gpu": "all"})])
        namespace.wait_until(("pod", "all"), lambda found: bool(found["status"].get("conditions")), "it was looked at")
        assert namespace.get("pod", "all")["status"]["phase"] == "Pending"
    namespace.wait_for_pod("all", timeout=120)
    assert any(uuid in listed for uuid in look(namespace, "all").products)


def free_on(running: Running, node: str) -> int:
    return sum(not device.get("taints") for device in devices_on(running, node))


def test_a_run_that_was_killed_is_in_nobodys_way(tool: Tool) -> None:
    with tool.holding() as first:
        tool.kill("KILL")
        wait_for("the next run stops its container and has its GPU", lambda: first == tool.run("nvidia-smi", "-L").stdout, 60)
