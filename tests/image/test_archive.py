"""The archive is an OCI image that runtimes import, and the Dockerfile makes the same of the root."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from conftest import SOURCE, Packed, needs

Json = dict[str, Any]


@pytest.fixture(scope="module")
def contents(packed: Packed) -> dict[str, bytes]:
    with tarfile.open(packed.archive) as archive:
        return {member.name: _read(archive, member) for member in archive.getmembers()}


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None, f"{member.name} is no file"
    return stream.read()


def _blob(contents: dict[str, bytes], descriptor: Json) -> bytes:
    data = contents["blobs/" + descriptor["digest"].replace(":", "/")]
    assert len(data) == descriptor["size"]
    return data


def _manifest(contents: dict[str, bytes]) -> Json:
    (descriptor,) = json.loads(contents["index.json"])["manifests"]
    manifest: Json = json.loads(_blob(contents, descriptor))
    return manifest


def _config(contents: dict[str, bytes]) -> Json:
    config: Json = json.loads(_blob(contents, _manifest(contents)["config"]))
    return config


def test_every_blob_has_its_digest_as_name(contents: dict[str, bytes]) -> None:
    blobs = {name: data for name, data in contents.items() if name.startswith("blobs/")}
    assert len(blobs) == 3
    for name, data in blobs.items():
        assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"


def test_image_has_its_name_for_containerd_and_for_podman(contents: dict[str, bytes], packed: Packed) -> None:
    (descriptor,) = json.loads(contents["index.json"])["manifests"]
    version = packed.sbom["packages"][0]["versionInfo"]
    assert set(descriptor["annotations"]) == {"io.containerd.image.name", "org.opencontainers.image.ref.name"}
    assert set(descriptor["annotations"].values()) == {f"localhost/tessera:{version}"}


def test_the_one_layer_is_the_root_archive(contents: dict[str, bytes], packed: Packed) -> None:
    (layer,) = _manifest(contents)["layers"]
    assert _blob(contents, layer) == packed.layer.read_bytes()
    assert _config(contents)["rootfs"]["diff_ids"] == [layer["digest"]]


def test_nothing_runs_as_root_unless_asked(contents: dict[str, bytes], root: Path) -> None:
    user, _, group = _config(contents)["config"]["User"].partition(":")
    assert int(user) > 0
    assert re.search(rf"^nonroot:x:{user}:{group}:", (root / "etc/passwd").read_text(), re.MULTILINE)


def test_entrypoint_and_certificates_exist(contents: dict[str, bytes], root: Path) -> None:
    config = _config(contents)["config"]
    environment = dict(variable.split("=", 1) for variable in config["Env"])
    for path in (config["Entrypoint"][0], environment["SSL_CERT_FILE"]):
        assert (root / path.lstrip("/")).is_file(), path


def test_dockerfile_says_the_same_as_the_archive(contents: dict[str, bytes], packed: Packed) -> None:
    text = (SOURCE / "deploy/image/Dockerfile").read_text()
    assert (packed.folder / "Dockerfile").read_text() == text
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    config = _config(contents)["config"]
    assert [value for name, value in lines if name == "ENV"] == config["Env"]
    assert dict(lines)["USER"] == config["User"]
    assert dict(lines)["WORKDIR"] == config["WorkingDir"]
    assert json.loads(dict(lines)["ENTRYPOINT"]) == config["Entrypoint"]
    assert lines[0] == ["FROM", "scratch"]


@needs(bool(shutil.which("skopeo")), "skopeo: tools/setup image-test")
@pytest.mark.parametrize("transport", ["oci-archive", "docker-archive"])
def test_archive_is_read_by_the_library_behind_podman(packed: Packed, transport: str, tmp_path: Path) -> None:
    """skopeo shares its code with podman and CRI-O. Copying checks every digest."""
    source = f"{transport}:{packed.archive}"
    copied = ["skopeo", "--insecure-policy", "copy", "--quiet", source, f"dir:{tmp_path}"]
    subprocess.run(copied, check=True, capture_output=True)
    inspected = json.loads(subprocess.run(["skopeo", "inspect", source], check=True, capture_output=True).stdout)
    assert inspected["Os"] == "linux"
    assert inspected["Layers"] == [f"sha256:{hashlib.sha256(packed.layer.read_bytes()).hexdigest()}"]
    if transport == "oci-archive":
        assert inspected["Digest"] == packed.digest
