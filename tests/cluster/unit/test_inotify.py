"""A cluster that would starve for inotify instances is not started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import inotify
from harness.errors import ClusterError


class Instances:
    """So many, and then none."""

    def __init__(self, left: int) -> None:
        self.left, self.given = left, list[int]()

    def open(self) -> int:
        if self.left == 0:
            return -1
        self.left -= 1
        self.given.append(os.open(os.devnull, os.O_RDONLY))
        return self.given[-1]

    def open_ones(self) -> list[int]:
        return [each for each in self.given if Path(f"/proc/self/fd/{each}").exists()]


def test_what_is_left_is_enough_or_the_person_hears_what_to_allow() -> None:
    enough, short = Instances(23), Instances(22)
    inotify.require(2, enough.open)
    assert enough.left == 0
    with pytest.raises(ClusterError, match=r"needs 23 inotify instances and 22 are left; .*max_user_instances"):
        inotify.require(2, short.open)
    assert enough.open_ones() == short.open_ones() == []


def test_the_kernel_gives_an_instance() -> None:
    instance = inotify.new_instance()
    assert os.readlink(f"/proc/self/fd/{instance}") == "anon_inode:inotify"
    os.close(instance)
