"""The machine under the clusters, as far as one of them could change it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from harness.errors import run

_SETTINGS = Path("/proc/sys")
# Of these kubelets, container runtimes and CNI plugins change some. Others below /proc/sys count, and change by themselves.
_CHANGED_BY_NODES = (
    "vm/*",
    "kernel/panic*",
    "kernel/keys/root_max*",
    "net/ipv4/ip_forward",
    "net/ipv*/conf/*/forwarding",
    "net/ipv4/conf/*/route_localnet",
    "net/bridge/*",
    "net/netfilter/nf_conntrack_max",
)
_CHANGES_BY_ITSELF = re.compile(r"\[\d+:\d+\]|(valid_lft|preferred_lft|expires) \S+")  # Packets, lifetimes.


def look() -> set[str]:
    """Links, addresses, routes, rules, netfilter, mounts and settings: a line each, as the test's own process sees them."""
    commands = (["ip", "-oneline", "address"], ["ip", "route", "show", "table", "all"], ["ip", "rule"], ["iptables-save"])
    lines = {f"{command[0]}: {line}" for command in commands for line in run(command).splitlines() if line[:1] != "#"}
    found = {_CHANGES_BY_ITSELF.sub("", line) for line in lines}
    found |= {f"mount: {line}" for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()}
    return found | set(_settings())


def _settings() -> Iterator[str]:
    for pattern in _CHANGED_BY_NODES:
        for file in _SETTINGS.glob(pattern):
            try:
                yield f"{file}: {file.read_text('utf-8').strip()}"
            except OSError:
                continue  # Some can only be written.
