"""tessera-sim on a node: its NVIDIA driver comes and goes."""

from __future__ import annotations

from harness.errors import run
from harness.node import Node
from harness.places import SIMULATOR


def simulate(node: Node, *words: str) -> None:
    run([SIMULATOR, *words, "--root", node.driver_root])
