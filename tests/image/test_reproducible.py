"""Two builds, one digest."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import BUILD, EPOCH, SOURCE, Packed, pack

PROGRAMS = ("tessera", "tessera-cdi-hook", "tessera-kubelet-plugin")


def test_two_packings_in_different_surroundings_are_the_same_bytes(packed: Packed, tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        again = pack(tmp_path / "elsewhere", TZ="Pacific/Chatham", LC_ALL="C", LANG="C", PYTHONHASHSEED="1")
    finally:
        os.umask(mask)
    for name in sorted(path.name for path in packed.folder.iterdir()):
        assert (again.folder / name).read_bytes() == (packed.folder / name).read_bytes(), name
    assert again.digest == packed.digest


@pytest.fixture
def other() -> Iterator[Path]:
    """A copy of the build folder. Below the sources, so that its objects count as ours."""
    with tempfile.TemporaryDirectory(dir=BUILD.parent, prefix="release-again-") as folder:
        yield shutil.copytree(BUILD, Path(folder, "of/another/length"), symlinks=True)


def test_programs_that_are_compiled_and_linked_again_elsewhere_are_the_same_image(
    packed: Packed, other: Path, tmp_path: Path
) -> None:
    """Without the compiler's cache. Of the objects only each main(): all take an hour."""
    for name in PROGRAMS:
        (main,) = other.glob(f"src/cmd/**/{name}.dir/**/main.cc.o")
        for made in (main, other / "bin" / name):
            made.unlink()
            make_again(made.relative_to(other), other)
    assert pack(tmp_path, other).digest == packed.digest


def make_again(file: Path, folder: Path) -> None:
    """By the build's own command. Ninja itself would first look whether the original is up to date."""
    show = ["ninja", "-C", str(BUILD), "-t", "commands", "-s", str(file)]
    command = subprocess.run(show, check=True, capture_output=True, text=True).stdout.replace(str(BUILD), str(folder))
    subprocess.run(["sh", "-c", command], check=True, cwd=folder, env={**os.environ, "CCACHE_DISABLE": "1"})


def test_another_date_of_the_sources_is_another_image(packed: Packed, tmp_path: Path) -> None:
    assert pack(tmp_path, SOURCE_DATE_EPOCH=str(EPOCH + 1)).digest != packed.digest


def test_digest_is_that_of_the_manifest_in_the_archive(packed: Packed) -> None:
    algorithm, _, value = packed.digest.partition(":")
    assert algorithm == "sha256"
    with tarfile.open(packed.archive) as archive:
        manifest = archive.extractfile(f"blobs/sha256/{value}")
        assert manifest is not None
        assert hashlib.sha256(manifest.read()).hexdigest() == value


def test_layer_knows_one_time_one_owner_and_is_sorted(packed: Packed) -> None:
    with tarfile.open(packed.layer) as layer:
        members = layer.getmembers()
    assert {member.mtime for member in members} == {EPOCH}
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    names = [member.name for member in members]
    assert names == sorted(names)


def test_programs_do_not_tell_where_they_were_built() -> None:
    for name in PROGRAMS:
        assert os.fsencode(SOURCE) not in (BUILD / "bin" / name).read_bytes(), name
