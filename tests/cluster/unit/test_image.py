"""Image archives: reproducible, and what the OCI layout asks for."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from harness.image import write_archive


def make_root(root: Path) -> Path:
    (root / "bin").mkdir(parents=True)
    (root / "bin/busybox").write_text("program", encoding="ascii")
    (root / "bin/sh").symlink_to("busybox")
    return root


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_archive(make_root(tmp_path / name), "localhost/x:1", tmp_path / f"{name}.tar", ["/bin/sh"])
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_every_descriptor_names_a_blob_with_its_digest_and_size(tmp_path: Path) -> None:
    write_archive(make_root(tmp_path / "root"), "localhost/x:1", tmp_path / "x.tar", ["/bin/sh"])
    with tarfile.open(tmp_path / "x.tar") as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    (described,) = json.loads(files["index.json"])["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == "localhost/x:1"
    manifest = json.loads(files["blobs/" + described["digest"].replace(":", "/")])
    for descriptor in (described, manifest["config"], *manifest["layers"]):
        blob = files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert descriptor["size"] == len(blob)
        assert descriptor["digest"] == "sha256:" + hashlib.sha256(blob).hexdigest()


def test_links_stay_links(tmp_path: Path) -> None:
    write_archive(make_root(tmp_path / "root"), "localhost/x:1", tmp_path / "x.tar", ["/bin/sh"])
    with tarfile.open(tmp_path / "x.tar") as outer:
        layers = [outer.extractfile(member) for member in outer if member.name.startswith("blobs/")]
        names = {}
        for layer in layers:
            try:
                with tarfile.open(fileobj=layer) as inner:
                    names = {member.name: member for member in inner}
            except tarfile.ReadError:
                continue
    assert names["bin/sh"].linkname == "busybox"
    assert names["bin/busybox"].mtime == 0
