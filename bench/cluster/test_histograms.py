"""What is read out of /metrics."""

from __future__ import annotations

import histograms

# As a kubelet and a driver print them: cumulative buckets, several series of one name, other names beside.
BEFORE = """# TYPE took_seconds histogram
took_seconds_bucket{operation="prepare",outcome="ok",le="0.1"} 3
took_seconds_bucket{operation="prepare",outcome="ok",le="+Inf"} 3
took_seconds_sum{operation="prepare",outcome="ok"} 0.15
took_seconds_count{operation="prepare",outcome="ok"} 3
took_seconds_sum{operation="unprepare",outcome="ok"} 7
took_seconds_count{operation="unprepare",outcome="ok"} 1
"""
AFTER = """took_seconds_bucket{operation="prepare",outcome="ok",le="0.1"} 4
took_seconds_bucket{operation="prepare",outcome="ok",le="0.5"} 5
took_seconds_bucket{operation="prepare",outcome="ok",le="+Inf"} 5
took_seconds_sum{operation="prepare",outcome="ok"} 6.5e-01
took_seconds_count{operation="prepare",outcome="ok"} 5
took_seconds_bucket{operation="prepare",outcome="error",le="0.1"} 1
took_seconds_bucket{operation="prepare",outcome="error",le="0.5"} 1
took_seconds_bucket{operation="prepare",outcome="error",le="+Inf"} 1
took_seconds_sum{operation="prepare",outcome="error"} 0.01
took_seconds_count{operation="prepare",outcome="error"} 1
took_seconds_more_count{operation="prepare",outcome="ok"} 1000
"""


def test_the_difference_is_what_happened_in_between() -> None:
    wanted = {"operation": "prepare", "outcome": "ok"}
    between = histograms.read(AFTER, "took_seconds", **wanted) - histograms.read(BEFORE, "took_seconds", **wanted)
    assert between.count == 2
    assert round(between.seconds, 6) == 0.5


def test_the_longest_is_bounded_by_the_last_bucket_that_is_not_empty() -> None:
    assert histograms.read(BEFORE, "took_seconds", operation="prepare").at_most() == 0.1
    assert histograms.read(AFTER, "took_seconds", operation="prepare", outcome="ok").at_most() == 0.5


def test_series_with_the_wanted_labels_are_added_up() -> None:
    assert histograms.read(AFTER, "took_seconds", operation="prepare").count == 6


def test_what_has_not_happened_yet_is_nothing() -> None:
    nothing = histograms.read(BEFORE, "took_seconds", operation="prepare", outcome="error")
    assert (nothing.count, nothing.seconds, nothing.at_most()) == (0, 0, 0)
