"""The check after `down` sees what it is there to see."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import leftovers, processes
from harness.layout import cluster_id
from harness.waiting import wait_for


@contextmanager
def sleeper(directory: Path) -> Iterator[int]:
    env = {**os.environ, processes.CLUSTER_VARIABLE: cluster_id(directory)}
    with subprocess.Popen(["sleep", "1000"], env=env) as process:
        wait_for("its exec", lambda: process.pid in processes.members(directory), 10)
        yield process.pid
        process.kill()


def test_a_process_that_stayed_is_found_and_only_that_of_this_cluster(tmp_path: Path) -> None:
    with sleeper(tmp_path) as pid:
        assert leftovers.find(tmp_path) == [f"process {pid}: sleep 1000"]
        assert leftovers.find(tmp_path / "other") == []
    assert leftovers.find(tmp_path) == []


def test_killing_all_ends_what_was_started_without_an_init(tmp_path: Path) -> None:
    with sleeper(tmp_path):
        processes.kill_all(tmp_path)
        assert list(processes.members(tmp_path)) == []


def test_a_namespace_is_held_by_who_was_there_not_by_who_came_later(tmp_path: Path) -> None:
    own = frozenset(leftovers.namespaces_of(os.getpid()))
    born = processes.started(os.getpid())
    me = f"held by process {os.getpid()}:"
    assert any(me in line for line in leftovers.find(tmp_path, leftovers.Seen(own, born)))
    assert not any(me in line for line in leftovers.find(tmp_path, leftovers.Seen(own, born - 1)))
