"""Makes a problem smaller while it stays interesting."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

# What every such object has, or what an API server fills in: without it the problem would be another one.
NEEDED = {
    "allocationMode", "bool", "bools", "cel", "classes", "count", "counterSet", "device", "deviceClassName", "driver",
    "effect", "expression", "generation", "int", "ints", "key", "metadata", "name", "namespace", "node", "opaque",
    "operator", "parameters", "pool", "request", "resourceSliceCount", "spec", "string", "strings", "uid", "value",
    "values", "version", "versions",
}  # fmt: skip


def shrink(problem: Json, interesting: Callable[[Json], bool]) -> Json:
    """Leaves out entries of maps and items of lists until none can go."""
    while True:
        smaller = _pass(problem, (), interesting)
        if smaller == problem:
            return problem
        problem = smaller


def _pass(problem: Json, path: tuple[Any, ...], interesting: Callable[[Json], bool]) -> Json:
    """Tries each part below the path once: as a whole, then its parts. From the end, so that indices stay true."""
    for key in reversed(_keys(_at(problem, path))):
        if key not in NEEDED:
            candidate = copy.deepcopy(problem)
            del _at(candidate, path)[key]
            if interesting(candidate):
                problem = candidate
                continue
        problem = _pass(problem, (*path, key), interesting)
    return problem


def _at(problem: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        problem = problem[step]
    return problem


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    return list(range(len(value))) if isinstance(value, list) else []
