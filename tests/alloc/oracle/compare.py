"""Puts the same problems to our allocator and to Kubernetes', and tells where the answers differ."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lists import LISTS_GATE, with_lists
from shrink import Json, shrink

KINDS = ("small", "machine")  # tests/alloc/generator.h
TOO_LATE = "too late"
MOST_TOO_LATE = 0.01  # Of a release's problems: where Kubernetes has no answer, nothing is compared.
MOST_SHOWN = 3


class Sides(Protocol):
    """The two programs that answer: one line a problem, "answer TAB details"."""

    def problems(self, kind: str, first: int, count: int) -> list[str]: ...
    def ours(self, release: str, problems: list[str]) -> list[str]: ...
    def theirs(self, release: str, problems: list[str]) -> list[str]: ...


@dataclass(frozen=True)
class Seeds:
    """Which problems: `count` of each kind, with these feature gates besides the release's."""

    kinds: Sequence[str]
    first: int
    count: int
    gates: dict[str, bool] = field(default_factory=dict)


class OurProgram:
    """tests/tessera-alloc-problems of a build."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def problems(self, kind: str, first: int, count: int) -> list[str]:
        return lines([str(self._program), "problems", kind, str(first), str(count)])

    def cases(self, file: str) -> list[str]:
        return lines([str(self._program), "cases", file])

    def ours(self, release: str, problems: list[str]) -> list[str]:
        return lines([str(self._program), "answers", release], problems)


class NoAnswerError(Exception):
    """A program took something for no problem at all."""


def lines(command: list[str], given: Sequence[str] = ()) -> list[str]:
    text = "".join(line + "\n" for line in given)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoAnswerError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def short(answer: str) -> str:
    """Without the details."""
    return answer.split("\t")[0]


def outcome(answer: str) -> str:
    """What kind of answer this is; tests/alloc/problem.h says how they are written."""
    kinds = {"T": TOO_LATE, "-": "refused", "!": "refused", "E": "stopped by an error"}
    return kinds.get(answer[0], "allocated")


def same(ours: str, theirs: str) -> bool:
    """Without the steps, of which we need fewer. Where theirs took too long, there is nothing to compare."""
    return outcome(theirs) == TOO_LATE or short(ours) == short(theirs).split(" @")[0]


def compare(sides: Sides, releases: Sequence[str], seeds: Seeds) -> bool:
    """Whether all answers are the same. Prints what was asked and, small, where they are not."""
    named = [(f"{kind} problem {seeds.first + i}", _with_gates(text, seeds.gates, seeds.first + i))
             for kind in seeds.kinds
             for i, text in enumerate(sides.problems(kind, seeds.first, seeds.count))]  # fmt: skip
    return all([_compare_release(sides, release, named) for release in releases])


def _with_gates(text: str, gates: dict[str, bool], seed: int) -> str:
    if not gates:
        return text
    problem = json.loads(text) | {"gates": gates}
    return json.dumps(with_lists(problem, seed) if gates.get(LISTS_GATE) else problem)


def _compare_release(sides: Sides, release: str, named: list[tuple[str, str]]) -> bool:
    problems = [text for _, text in named]
    answers = list(zip(sides.ours(release, problems), sides.theirs(release, problems), strict=True))
    counts = Counter(outcome(theirs) for _, theirs in answers)
    different = [each for each, (ours, theirs) in zip(named, answers, strict=True) if not same(ours, theirs)]
    parts = ", ".join(f"{counts[each]} {each}" for each in ("allocated", "refused", "stopped by an error", TOO_LATE))
    print(f"Kubernetes {release}: {len(problems)} problems, {parts}; {len(different)} with different answers", flush=True)
    for name, text in different[:MOST_SHOWN]:
        _show(sides, release, name, json.loads(text))
    if counts[TOO_LATE] > MOST_TOO_LATE * len(problems):
        print(f"  more than {MOST_TOO_LATE:.0%} of them were too hard for Kubernetes: this run shows too little")
        return False
    return not different


def _show(sides: Sides, release: str, name: str, problem: Json) -> None:
    def differ(candidate: Json) -> bool:
        if not _asks(candidate):
            return False
        text = [json.dumps(candidate)]
        try:
            return not same(sides.ours(release, text)[0], sides.theirs(release, text)[0])
        except NoAnswerError:
            return False

    small = shrink(problem, differ)
    text = [json.dumps(small)]
    print(f"{name}, made smaller:\n{json.dumps(small, indent=1)}")
    print(f"  ours:   {sides.ours(release, text)[0]}\n  theirs: {sides.theirs(release, text)[0]}", flush=True)


def _asks(problem: Json) -> bool:
    """Whether every claim asks for something."""
    claims = problem.get("claims", [])
    return bool(claims) and all(claim["spec"].get("devices", {}).get("requests") for claim in claims)
