"""What is made of the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import report
from report import Row


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert report.percentile(values, 50) == 51
    assert report.percentile(values, 99) == 100
    assert report.percentile([7.0], 95) == 7
    assert report.percentile([], 50) == 0


def test_the_table_and_the_file_say_the_same_ratio(tmp_path: Path) -> None:
    rows = [Row("start", 30.0, "ms", "peer", 20.0), Row("failed", 0.0, "")]
    assert "1.50  peer: 20.0" in report.table(rows)
    report.write(tmp_path / "out.json", {"cpus": 2}, rows)
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [row["ratio"] for row in found["rows"]] == [1.5, None]
