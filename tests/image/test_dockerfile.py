"""The Dockerfile, built by Debian's podman: the same files and the same words as the archive."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from build_image import CONFIG
from conftest import Packed, needs

pytestmark = needs(os.geteuid() == 0 and bool(shutil.which("podman")), "root, and podman: tools/setup image-test")
IMAGE = "localhost/tessera:dockerfile"
Podman = Callable[..., str]
Entry = tuple[int, int, int, int, bytes | str]  # Type and mode, owner, group, time; content or target.


@pytest.fixture(scope="session")
def podman(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> Podman:
    """With images of its own, one of them built from the Dockerfile as its comment says."""
    home = tmp_path_factory.mktemp("podman")
    options = [f"--root={home / 'images'}", f"--runroot={home / 'run'}", "--storage-driver=vfs", "--cgroup-manager=cgroupfs"]
    offline = ["unshare", "--net"]

    def run(*words: str) -> str:
        return subprocess.run([*offline, "podman", *options, *words], check=True, capture_output=True, text=True).stdout

    context = tmp_path_factory.mktemp("context")
    for file in (packed.layer, packed.one("Dockerfile")):
        shutil.copy(file, context)
    run("build", "--isolation=chroot", f"--build-arg=ROOT={packed.layer.name}", f"--tag={IMAGE}", str(context))
    return run


def test_its_files_are_those_of_the_archive(packed: Packed, podman: Podman) -> None:
    assert files_in(Path(podman("image", "mount", IMAGE).strip())) == files_of(packed.layer)


def test_it_runs_what_the_archive_runs(podman: Podman) -> None:
    (found,) = json.loads(podman("image", "inspect", IMAGE))
    assert {name: found["Config"].get(name) for name in CONFIG} == CONFIG
    assert set(found["Config"]) - set(CONFIG) == {"Labels"}


def files_of(layer: Path) -> dict[str, Entry]:
    kinds = {tarfile.REGTYPE: stat.S_IFREG, tarfile.DIRTYPE: stat.S_IFDIR, tarfile.SYMTYPE: stat.S_IFLNK}
    found: dict[str, Entry] = {}
    with tarfile.open(layer) as archive:
        for each in archive:
            file = archive.extractfile(each) if each.isreg() else None
            content: bytes | str = file.read() if file else each.linkname
            found[each.name] = (kinds[each.type] | each.mode, each.uid, each.gid, int(each.mtime), content)
    return found


def files_in(top: Path) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for path in top.rglob("*"):
        info = path.lstat()
        content: bytes | str = str(path.readlink()) if path.is_symlink() else ""
        if stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(top))] = (info.st_mode, info.st_uid, info.st_gid, int(info.st_mtime), content)
    return found
