"""Results for people on a screen, and for programs in a file; rows as those of bench/report.h."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One number, and the one of the same run and unit that it is compared with."""

    name: str
    value: float
    unit: str
    against: str = ""
    floor: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None


def percentile(values: Sequence[float], percent: float) -> float:
    """As bench/callers.cc counts: the value below which so many lie; 0 of none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[min(int(percent / 100 * len(ranked)), len(ranked) - 1)]


def table(rows: Sequence[Row]) -> str:
    lines = [f"{'WHAT':<64} {'VALUE':>10} {'UNIT':<6} {'RATIO':>6}  AGAINST"]
    for row in rows:
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        against = "-" if row.floor is None else f"{row.against}: {row.floor:.1f}"
        lines.append(f"{row.name:<64} {row.value:>10.1f} {row.unit:<6} {ratio:>6}  {against}")
    return "\n".join(lines)


def write(file: Path, about: dict[str, Any], rows: Sequence[Row]) -> None:
    """Whole or not at all."""
    unfinished = file.with_suffix(".new")
    found = {"about": about, "rows": [{**asdict(row), "ratio": row.ratio} for row in rows]}
    unfinished.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(file)


def machine() -> dict[str, Any]:
    """What the numbers depend on and nobody remembers later."""
    cpus = [line for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if line.startswith("processor")]
    load = Path("/proc/loadavg").read_text("ascii").split()[:3]
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": len(cpus),
        "load": [float(each) for each in load],
    }
