"""What up() and down() refuse before they touch anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import lifecycle
from harness.errors import ClusterError


def test_a_folder_with_something_else_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "log").mkdir()
    with pytest.raises(ClusterError, match="holds something else"):
        lifecycle.down(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_down_is_fine_where_there_is_nothing(tmp_path: Path) -> None:
    lifecycle.down(tmp_path)
    lifecycle.down(tmp_path / "never-made")


def test_what_a_killed_cluster_left_is_removed_but_for_its_logs(tmp_path: Path) -> None:
    for name in ("log", "failures", "etcd", "nodes"):
        (tmp_path / name).mkdir()
    (tmp_path / "cluster.json").touch()
    lifecycle.down(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["failures", "log"]


def test_attaching_to_nothing_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="make cluster brings one up"):
        lifecycle.attach(tmp_path)
