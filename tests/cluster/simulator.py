"""tessera-sim on a node: what its GPUs are, and what happens to them."""

from __future__ import annotations

import yaml

from harness.errors import run
from harness.kubectl import Object
from harness.node import Node
from harness.places import SIMULATOR


def simulate(node: Node, *words: str) -> None:
    run([SIMULATOR, *words, "--root", node.driver_root])


def simulated(node: Node) -> Object:
    """The machine as the simulator has it."""
    machine: Object = yaml.safe_load(run([SIMULATOR, "show", "--root", node.driver_root]))
    return machine
