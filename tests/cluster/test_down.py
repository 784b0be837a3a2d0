"""Taking a cluster down leaves nothing: tried on a cluster of its own, killed in the rudest way."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import machine
from harness import cgroups, leftovers, lifecycle, processes
from harness.errors import run
from harness.lifecycle import Running
from harness.places import SIMULATOR, TOP
from harness.waiting import wait_for
from manifests import pod

pytestmark = pytest.mark.long
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys")


@pytest.fixture
def other(cluster: Running, tmp_path: Path) -> Iterator[Running]:
    """A second cluster beside the first, with a pod that runs."""
    running = lifecycle.up(tmp_path / "cluster", cluster.cluster.release, ["l4"], SIMULATOR, bound=True)
    running.kubectl.wait_until(("serviceaccount", "default"), bool, "a service account")
    running.kubectl.apply(pod("resident"))
    running.kubectl.wait_for_pod("resident")
    yield running
    lifecycle.down(running.cluster.dir)


def shell(command: str, stdin: str = "") -> str:
    return run(["sh", "-c", command], stdin=stdin, cwd=TOP)


def test_a_cluster_that_was_made_by_hand_can_be_used_as_it_says_and_leaves_the_machine_as_it_was(cluster: Running) -> None:
    """What `make cluster` and `make cluster-down` call, for another folder."""
    directory = cluster.cluster.dir.with_name(f"{cluster.cluster.dir.name}-by-hand")
    lifecycle.down(directory)
    before = machine.look()
    try:
        up = f"up --k8s {cluster.cluster.version} --profiles l4"
        said = shell(f"PYTHONPATH=tests/cluster {sys.executable} -m harness --dir {directory} {up}")
        use, enter, end = (line for line in said.splitlines() if line.startswith("  "))
        assert shell(f"{use}; kubectl get nodes --output=name") == "node/node-1\n"
        assert shell(enter, stdin="hostname\n") == "node-1\n"
        seen = leftovers.look_at(directory)
        assert shell(end) == "nothing is left: no process, mount, network or cgroup\n"
        assert leftovers.find(directory, seen) == []
    finally:
        lifecycle.down(directory)
    assert machine.look() ^ before == set()
    shutil.rmtree(directory)


def test_down_leaves_nothing(other: Running) -> None:
    directory = other.cluster.dir
    seen = leftovers.look_at(directory)
    assert cgroups.left(directory) and seen.names
    lifecycle.down(directory)
    assert leftovers.find(directory, seen) == []
    assert [entry.name for entry in directory.iterdir()] == ["log"]


def test_killing_its_init_ends_every_process_at_once(other: Running) -> None:
    directory = other.cluster.dir
    seen = leftovers.look_at(directory)
    first = processes.find_init(directory)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for("the end of all", lambda: not list(processes.members(directory)), 20)
    left = leftovers.find(directory, seen)
    assert [line for line in left if not line.startswith("cgroup ")] == []
    lifecycle.down(directory)


def test_cgroups_of_a_killed_cluster_are_found_when_its_folder_is_gone(other: Running) -> None:
    directory = other.cluster.dir
    mine = [home for home in cgroups.homes() if home.name == other.cluster.id]
    assert cgroups.remove_orphans(mine, age=0) == []  # It is alive.
    first = processes.find_init(directory)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for("the end of all", lambda: not list(processes.members(directory)), 20)
    shutil.rmtree(directory)
    assert cgroups.remove_orphans(mine) == []  # It is young.
    assert len(mine) == len(cgroups.hierarchies()) and cgroups.remove_orphans(mine, age=0) == mine
    assert leftovers.find(directory) == []


def test_the_machines_settings_stay_as_they_were(cluster: Running) -> None:
    """A kubelet changes these; the node shows it files of its own."""
    node = cluster.nodes[0]
    for name in SYSCTLS:
        inside = node.run("stat", "--file-system", "--format=%T", f"/proc/sys/{name}").strip()
        assert inside == "tmpfs", name
