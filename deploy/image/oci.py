"""An OCI image archive of one layer, written without a daemon: https://github.com/opencontainers/image-spec."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

Json = dict[str, Any]

_TYPES = "application/vnd.oci.image."


@dataclass(frozen=True)
class Image:
    name: str  # With its tag.
    architecture: str
    epoch: int
    config: Json  # What a container of it runs.
    labels: dict[str, str]
    layer: bytes


def timestamp(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class _Blobs:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def add(self, kind: str, data: bytes) -> Json:
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": _TYPES + kind, "digest": f"sha256:{digest}", "size": len(data)}


def archive(image: Image) -> tuple[bytes, str]:
    """The archive, and the digest of the image: what `image@sha256:…` names."""
    blobs = _Blobs()
    layer = blobs.add("layer.v1.tar", image.layer)
    config = blobs.add("config.v1+json", to_json(_configuration(image, layer["digest"])))
    manifest = blobs.add("manifest.v1+json", to_json({
        "schemaVersion": 2, "mediaType": _TYPES + "manifest.v1+json",
        "config": config, "layers": [layer], "annotations": image.labels,
    }))
    index = manifest | {
        "platform": {"architecture": image.architecture, "os": "linux"},
        # containerd reads the first, podman and skopeo the second.
        "annotations": {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": image.name},
    }
    blobs.files["oci-layout"] = to_json({"imageLayoutVersion": "1.0.0"})
    blobs.files["index.json"] = to_json({
        "schemaVersion": 2, "mediaType": _TYPES + "index.v1+json", "manifests": [index],
    })
    # For `docker load` before Docker 25, which does not know OCI's layout.
    blobs.files["manifest.json"] = to_json([{
        "Config": _path(config), "Layers": [_path(layer)], "RepoTags": [image.name],
    }])
    return _tar(blobs.files), manifest["digest"]


def _configuration(image: Image, layer: str) -> Json:
    created = timestamp(image.epoch)
    return {
        "architecture": image.architecture, "os": "linux", "created": created,
        "config": image.config | {"Labels": image.labels},
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": created, "created_by": "make image"}],
    }


def _path(descriptor: Json) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive_file:
        for path in sorted(files):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(files[path]), 0o644
            archive_file.addfile(info, io.BytesIO(files[path]))
    return buffer.getvalue()
