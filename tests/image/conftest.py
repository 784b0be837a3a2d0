"""What the tests of the image share: one packing of the release build, and its root unpacked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build" / "release"
sys.path.insert(0, str(SOURCE / "deploy/image"))
EPOCH = 1_700_000_000


@dataclass(frozen=True)
class Packed:
    """What `make image` leaves."""

    folder: Path

    def one(self, pattern: str) -> Path:
        (found,) = self.folder.glob(pattern)
        return found

    @property
    def archive(self) -> Path:
        return self.one("*[!t].tar")  # The other one ends in -root.tar.

    @property
    def layer(self) -> Path:
        return self.one("*-root.tar")

    @property
    def digest(self) -> str:
        return self.one("*.digest").read_text().strip()

    def unpack(self, folder: Path) -> Path:
        with tarfile.open(self.layer) as layer:
            layer.extractall(folder)
        return folder

    @property
    def sbom(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.one("*.spdx.json").read_text())
        return document


def needs(possible: bool, what: str) -> pytest.MarkDecorator:
    """Skips tests where this is not possible. In CI they run all the same, and fail: there everything is installed."""
    return pytest.mark.skipif(not possible and "CI" not in os.environ, reason=f"needs {what}")


def pack(folder: Path, build: Path = BUILD, **environment: str) -> Packed:
    """Packs the release programs, with the sources' date pinned."""
    program = SOURCE / "deploy/image/build_image.py"
    command = [sys.executable, str(program), "--build", str(build), "--output", str(folder)]
    variables = os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)} | environment
    subprocess.run(command, check=True, env=variables)
    return Packed(folder)


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return pack(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="session")
def root(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image's root as a container would see it."""
    return packed.unpack(tmp_path_factory.mktemp("root"))
