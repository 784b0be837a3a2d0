#!/usr/bin/env python3
"""Whether `ask compare` would see a wrong answer, and prints it small. Without Go: our allocator stands for Kubernetes', too.

    compare_test.py PATH/tessera-alloc-problems
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path
from typing import Any

from compare import KINDS, OurProgram, Seeds, compare
from lists import LISTS_GATE, with_lists
from shrink import shrink

PROGRAM = Path(sys.argv.pop())
RELEASES = ("1.36", "1.37")


class Agreeing(OurProgram):
    def __init__(self) -> None:
        super().__init__(PROGRAM)

    def theirs(self, release: str, problems: list[str]) -> list[str]:
        return super().ours(release, problems)


class BlindToNuma(Agreeing):
    """Our side refuses where a device has this attribute."""

    def ours(self, release: str, problems: list[str]) -> list[str]:
        right = super().ours(release, problems)
        return ["-\t" if '"numa"' in given else answer for given, answer in zip(problems, right, strict=True)]


class Impatient(Agreeing):
    """Kubernetes gives up on the first few."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self._late = late

    def theirs(self, release: str, problems: list[str]) -> list[str]:
        return ["T\t"] * self._late + super().theirs(release, problems)[self._late :]


def run(sides: Agreeing, seeds: Seeds) -> tuple[bool, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        equal = compare(sides, RELEASES, seeds)
    return equal, printed.getvalue()


class Compare(unittest.TestCase):
    def test_equal_answers_pass_and_are_counted_for_each_release(self) -> None:
        equal, printed = run(Agreeing(), Seeds(KINDS, 0, 50))
        self.assertTrue(equal)
        for release in RELEASES:
            self.assertRegex(printed, rf"Kubernetes {release}: 100 problems, [1-9]\d* allocated, [1-9]\d* refused")
        self.assertEqual(printed.count("0 too late; 0 with different answers"), len(RELEASES))

    def test_a_wrong_answer_is_found_and_printed_small(self) -> None:
        equal, printed = run(BlindToNuma(), Seeds(["small"], 0, 10))
        self.assertFalse(equal)
        self.assertRegex(printed, r"small problem \d, made smaller:")
        start = printed.index("{")
        small: dict[str, Any] = json.JSONDecoder().raw_decode(printed, start)[0]
        self.assertEqual(len(small["claims"]), 1)
        self.assertEqual(len(small["claims"][0]["spec"]["devices"]["requests"]), 1)
        self.assertEqual(len(small["slices"]), 1)
        devices = small["slices"][0]["spec"]["devices"]
        self.assertEqual([set(device) for device in devices], [{"name", "attributes"}])
        self.assertEqual(list(devices[0]["attributes"]), ["numa"])
        self.assertIn("\n  ours:   -\t\n  theirs: ", printed)

    def test_feature_gates_are_put_to_both_sides(self) -> None:
        _, usual = run(Agreeing(), Seeds(["small"], 0, 50))
        equal, printed = run(Agreeing(), Seeds(["small"], 0, 50, {"DRAPrioritizedList": False}))
        self.assertTrue(equal)
        self.assertNotEqual(printed, usual)  # Problems with alternatives end in an error.

    def test_with_their_gate_some_attributes_are_lists(self) -> None:
        asked = [json.loads(text) for text in Agreeing().problems("small", 0, 20)]
        listed = [with_lists(json.loads(json.dumps(each)), seed) for seed, each in enumerate(asked)]
        self.assertNotIn('"ints"', json.dumps(asked))
        self.assertIn('"ints"', json.dumps(listed))
        self.assertIn('"strings"', json.dumps(listed))
        self.assertTrue(run(Agreeing(), Seeds(["small"], 0, 20, {LISTS_GATE: True}))[0])

    def test_more_than_one_percent_without_an_answer_fails(self) -> None:
        self.assertTrue(run(Impatient(late=2), Seeds(KINDS, 0, 100))[0])
        equal, printed = run(Impatient(late=3), Seeds(KINDS, 0, 100))
        self.assertFalse(equal)
        self.assertIn("3 too late", printed)


class Shrink(unittest.TestCase):
    def test_leaves_out_items_of_lists_and_entries_of_maps(self) -> None:
        problem = {"list": [1, {"in": 2, "out": 3}, 4], "map": {"stay": {"go": 5}, "go": [6]}}
        small = shrink(problem, lambda p: "stay" in p.get("map", {}) and {"in": 2} in _slim(p.get("list", [])))
        self.assertEqual(small, {"list": [{"in": 2}], "map": {"stay": {}}})

    def test_keeps_what_an_api_server_would_fill_in(self) -> None:
        problem = {"exactly": {"allocationMode": "ExactCount", "count": 1, "adminAccess": True}}
        small = shrink(problem, lambda p: "exactly" in p)
        self.assertEqual(small, {"exactly": {"allocationMode": "ExactCount", "count": 1}})


def _slim(items: list[Any]) -> list[Any]:
    return [{"in": item["in"]} for item in items if isinstance(item, dict) and "in" in item]


if __name__ == "__main__":
    unittest.main()
