"""Our allocator and CEL beside Kubernetes' own, on the same inputs: `make bench-alloc`; README.md says what is measured and how."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import inputs

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/alloc/oracle"), str(TOP / "bench/cluster")]

import report  # noqa: E402
from program import RELEASES, oracle  # noqa: E402

RESULT = TOP / "build/bench/alloc.json"
FOLDER = TOP / "build/bench/alloc"
OURS = TOP / "build/release-bench/bin/alloc_bench"
TOO_LONG = "T"

Answers = list[dict[str, Any]]  # What one side says to one file: a line for each thing it was asked.


class Differs(Exception):
    """The two sides gave different answers: their times must not be compared."""


@dataclass(frozen=True)
class Row:
    """Microseconds of both sides; `bounded`: Kubernetes was stopped, and would have taken longer."""

    name: str
    release: str
    ours: float
    theirs: float
    bounded: bool = False

    @property
    def faster(self) -> float:
        return self.theirs / self.ours


def main() -> int:
    arguments = _arguments()
    about = report.machine()
    allocations = inputs.write(FOLDER)
    rows: list[Row] = []
    try:
        for release in arguments.releases:
            oracle(release)
            if not arguments.cel_only:
                rows += _allocation_rows(release, allocations, arguments)
            rows += _cel_rows(release, arguments)
    except Differs as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    ready = {} if arguments.cel_only else _ready(allocations, arguments)
    about |= {"load_at_end": report.machine()["load"], "amounts": vars(arguments)}
    _write(about, rows, ready)
    print(table(rows))
    for gpus, once in ready.items():
        print(f"made ready, {gpus} GPUs: inventory {once['inventory']:.1f} us, allocator {once['allocator']:.1f} us")
    print(f"\nload of the machine: {about['load']} before, {about['load_at_end']} after; also in {RESULT}")
    return 0


def table(rows: Sequence[Row]) -> str:
    lines = [f"{'WHAT':<84} {'AGAINST':>7} {'OURS us':>10} {'THEIRS us':>13} {'FASTER':>9}"]
    for row in rows:
        least = "≥ " if row.bounded else ""
        theirs, faster = f"{least}{row.theirs:.1f}", f"{least}{row.faster:.1f}×"
        lines.append(f"{row.name:<84} {row.release:>7} {row.ours:>10.1f} {theirs:>13} {faster:>9}")
    return "\n".join(lines)


def _allocation_rows(
    release: str, allocations: Iterable[inputs.Allocation], arguments: argparse.Namespace
) -> Iterator[Row]:
    for each in allocations:
        name = f"{each.layout}, {each.gpus} GPUs: {each.question}"
        _say(f"{release}: {name}")
        turns = [_both(release, "allocate", each.file, arguments) for _ in range(arguments.rounds)]
        agree(name, turns[0][0][0]["answer"], turns[0][1][0]["answer"])
        late = turns[0][1][0]["answer"] == TOO_LONG
        yield Row(name, release, _middle(turns, 0, 0, "ns"), _middle(turns, 1, 0, "ns"), late)


def _cel_rows(release: str, arguments: argparse.Namespace) -> Iterator[Row]:
    _say(f"{release}: CEL")
    turns = [_both(release, "cel", FOLDER / "cel.json", arguments) for _ in range(arguments.rounds)]
    for at, expression in enumerate(inputs.EXPRESSIONS):
        agree(expression, turns[0][0][at]["answer"], turns[0][1][at]["answer"])
    for title, ours, theirs in (
        ("compile", "compile_ns", "compile_ns"),
        ("evaluate", "evaluate_ns", "evaluate_ns"),
        ("evaluate, ours with a new device", "cold_evaluate_ns", "evaluate_ns"),
    ):
        for at, expression in enumerate(inputs.EXPRESSIONS):
            short = expression.replace(f"device.attributes['{inputs.DRIVER}']", "…")
            yield Row(f"{title}: {short}"[:84], release, _middle(turns, 0, at, ours), _middle(turns, 1, at, theirs))


def agree(what: str, ours: Any, theirs: Any) -> None:
    if theirs not in (ours, TOO_LONG):
        raise Differs(f"{what}: we answer {ours!r}, Kubernetes answers {theirs!r}")


def _ready(allocations: Iterable[inputs.Allocation], arguments: argparse.Namespace) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for each in allocations:
        if each.layout == inputs.FULL_NODES and each.gpus not in found:
            line = _lines([OURS, "ready", each.file, arguments.milliseconds])[0]
            found[each.gpus] = {what: line[f"{what}_ns"] / 1000 for what in ("inventory", "allocator")}
    return found


def _both(release: str, command: str, file: Path, arguments: argparse.Namespace) -> tuple[Answers, Answers]:
    ours = _lines([OURS, command, release, file, arguments.milliseconds])
    return ours, _lines([oracle(release), command, file, arguments.milliseconds])


def _lines(command: Sequence[Any]) -> Answers:
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _middle(turns: Sequence[tuple[Answers, Answers]], side: int, line: int, field: str) -> float:
    return statistics.median(turn[side][line][field] for turn in turns) / 1000


def _write(about: dict[str, Any], rows: Sequence[Row], ready: dict[int, dict[str, float]]) -> None:
    """Whole or not at all."""
    unfinished = RESULT.with_suffix(".new")
    found = {
        "about": about,
        "unit": "us",
        "rows": [{**asdict(row), "faster": row.faster} for row in rows],
        "ready": ready,
    }
    unfinished.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(RESULT)


def _say(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--milliseconds", type=int, default=200, help="for each median")
    parser.add_argument("--rounds", type=int, default=3, help="in which both sides take turns; the middle one counts")
    parser.add_argument("--releases", nargs="+", choices=RELEASES, default=RELEASES)
    parser.add_argument("--cel-only", action="store_true", help="leave the allocations out")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
