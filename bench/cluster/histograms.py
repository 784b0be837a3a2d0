"""Reads histograms out of what a program serves at /metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SERIES = re.compile(r"^(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\{(?P<labels>[^}]*)\} (?P<value>\S+)", re.MULTILINE)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"]*)"')


@dataclass(frozen=True)
class Histogram:
    """Of a moment, or of the time between two: `after - before`."""

    count: float
    seconds: float
    buckets: Mapping[float, float]  # Upper bound → how many took at most so long.

    def __sub__(self, before: Histogram) -> Histogram:
        buckets = {bound: count - before.buckets.get(bound, 0.0) for bound, count in self.buckets.items()}
        return Histogram(self.count - before.count, self.seconds - before.seconds, buckets)

    def __add__(self, other: Histogram) -> Histogram:
        bounds = {*self.buckets, *other.buckets}
        buckets = {bound: self.buckets.get(bound, 0.0) + other.buckets.get(bound, 0.0) for bound in bounds}
        return Histogram(self.count + other.count, self.seconds + other.seconds, buckets)

    def at_most(self) -> float:
        """The longest took at most so many seconds: the bound of the last bucket that is not empty."""
        return min((bound for bound, count in self.buckets.items() if count >= self.count), default=0.0)


def read(text: str, name: str, **wanted: str) -> Histogram:
    """The sum of all series of this name with these labels; empty when there is none yet."""
    count = seconds = 0.0
    buckets: dict[float, float] = {}
    for series, labels, value in _series(text):
        if not wanted.items() <= labels.items():
            continue
        if series == f"{name}_count":
            count += value
        elif series == f"{name}_sum":
            seconds += value
        elif series == f"{name}_bucket":
            bound = float(labels["le"])
            buckets[bound] = buckets.get(bound, 0.0) + value
    return Histogram(count, seconds, buckets)


def _series(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for found in _SERIES.finditer(text):
        yield found["name"], dict(_LABEL.findall(found["labels"])), float(found["value"])
