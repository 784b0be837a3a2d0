"""Finds a Go that is new enough to fetch the exact toolchain a go.mod asks for."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from harness.errors import ClusterError, run

OLDEST = (1, 21)  # The first that switches toolchains.


def cache_root() -> Path:
    """Where everything is kept that is dear to make; shared by all trees of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tessera" / "cluster"


def find_go() -> Path:
    """The first usable Go: the caller's, then those of Debian, then the one tools/setup has made."""
    for go in _candidates():
        if parse_version(run([go, "version"])) >= OLDEST:
            return go
    oldest = ".".join(str(part) for part in OLDEST)
    raise ClusterError(f"no Go from {oldest} on was found; run tools/setup cluster, or put one on PATH")


def go_environment() -> dict[str, str]:
    """A developer's own Go settings must not change what is built."""
    env = {name: value for name, value in os.environ.items() if name not in ("GOFLAGS", "GOWORK", "GOOS", "GOARCH")}
    return env | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "auto", "GOWORK": "off"}


def parse_version(text: str) -> tuple[int, int]:
    """(1, 26) of "go version go1.26.8 linux/amd64"."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("go")
    if on_path:
        yield Path(on_path)
    yield from Path("/usr/local/go/bin").glob("go")
    yield from sorted(Path("/usr/lib").glob("go-*/bin/go"), reverse=True)
    yield from (cache_root() / "go/lib").glob("python3*/site-packages/go/bin/go")  # build/ensure-go
