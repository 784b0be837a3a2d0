"""Image archives without a registry or a daemon: a folder becomes an OCI archive that `ctr images import` takes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import ClusterError, run
from harness.node_disk import SANDBOX_IMAGE

TEST_IMAGE = "localhost/tessera-test:1"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def make_test_images(folder: Path, simulated_program: Path) -> list[Path]:
    """The sandbox of every pod, and a small userland that can run what CDI mounts into it."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise ClusterError("busybox is not there; run tools/setup cluster")
    root = userland(folder)
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr/bin", "var/lib"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for applet in run([busybox, "--list"]).split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n", encoding="ascii")
    _copy_libraries(simulated_program, root)
    sandbox, test = folder / "pause.tar", folder / "test.tar"
    write_archive(root, SANDBOX_IMAGE, sandbox, ["/bin/tail", "-f", "/dev/null"])
    write_archive(root, TEST_IMAGE, test, ["/bin/sh"])
    return [sandbox, test]


def userland(folder: Path) -> Path:
    """What the images that were made in this folder have as their root."""
    return folder / "root"


def write_archive(root: Path, name: str, out: Path, command: Sequence[str]) -> None:
    """The same folder gives the same bytes."""
    layer = _layer(root)
    config = {
        "architecture": _ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": list(command)},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    config_bytes = json.dumps(config).encode()
    manifest_type = "application/vnd.oci.image.manifest.v1+json"
    manifest = {
        "schemaVersion": 2,
        "mediaType": manifest_type,
        "config": _descriptor("application/vnd.oci.image.config.v1+json", config_bytes),
        "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
    }
    manifest_bytes = json.dumps(manifest).encode()
    described = _descriptor(manifest_type, manifest_bytes)
    described["annotations"] = {"io.containerd.image.name": name}
    index = {"schemaVersion": 2, "manifests": [described]}
    _write_layout(out, index, [config_bytes, layer, manifest_bytes])


def write_variant(archive: Path, name: str, out: Path) -> None:
    """The same programs as another image: its config has a label more, and so it has other digests."""
    with tarfile.open(archive) as source:
        files = {each.name: source.extractfile(each).read() for each in source if each.isfile()}  # type: ignore[union-attr]
    index = json.loads(files["index.json"])
    (described,) = index["manifests"]
    manifest = json.loads(files[_blob(described["digest"])])
    config = json.loads(files[_blob(manifest["config"]["digest"])])
    config["config"].setdefault("Labels", {})["tessera.test/variant"] = name
    config_bytes = json.dumps(config).encode()
    manifest["config"] = _descriptor(manifest["config"]["mediaType"], config_bytes)
    manifest_bytes = json.dumps(manifest).encode()
    index["manifests"] = [
        {**_descriptor(described["mediaType"], manifest_bytes), "annotations": {"io.containerd.image.name": name}}
    ]
    layers = [files[_blob(layer["digest"])] for layer in manifest["layers"]]
    _write_layout(out, index, [config_bytes, *layers, manifest_bytes])


def _copy_libraries(program: Path, root: Path) -> None:
    """The loader and the C library of `program`, where the program expects them."""
    for word in run(["ldd", program]).split():
        if word.startswith("/"):
            target = root / word.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(word), target)


def _layer(root: Path) -> bytes:
    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(root.rglob("*")):
            archive.add(path, arcname=str(path.relative_to(root)), recursive=False, filter=anonymous)
    return buffer.getvalue()


def _write_layout(out: Path, index: dict[str, Any], blobs: list[bytes]) -> None:
    with tarfile.open(out, "w") as archive:
        _add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        _add(archive, "index.json", json.dumps(index).encode())
        for blob in blobs:
            _add(archive, _blob(_digest(blob)), blob)


def _blob(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
