"""Gives devices list attributes, which problems made from seeds do not have."""

from __future__ import annotations

import random

from shrink import Json

LISTS_GATE = "DRAListTypeAttributes"


def with_lists(problem: Json, seed: int) -> Json:
    """The same problem, in which some attributes are lists: of their value and, mostly, one that another device has."""
    dice = random.Random(seed)
    devices = [device for each in problem["slices"] for device in each["spec"].get("devices", [])]
    known: dict[tuple[str, str], list[Json]] = {}
    for device in devices:
        for name, attribute in device.get("attributes", {}).items():
            for kind, value in attribute.items():
                known.setdefault((name, kind), []).append(value)
    for device in devices:
        for name, attribute in device.get("attributes", {}).items():
            if dice.random() < 0.3:
                ((kind, value),) = attribute.items()
                device["attributes"][name] = {f"{kind}s": [value, dice.choice(known[(name, kind)])]}
    return problem
