"""What the comparison rests on."""

from __future__ import annotations

import drivers
from harness.releases import NEWEST


def test_the_peer_is_built_on_the_library_of_the_clusters_release() -> None:
    pinned = (drivers.HERE / "peer/go.mod").read_text("utf-8")
    library = NEWEST.version.removeprefix("1.")
    assert f"k8s.io/dynamic-resource-allocation v0.{library}\n" in pinned


def test_the_peers_names_are_those_of_its_source() -> None:
    source = (drivers.HERE / "peer/main.go").read_text("utf-8")
    assert f'driverName = "{drivers.PEER}"' in source
