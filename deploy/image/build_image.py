#!/usr/bin/env python3
"""Packs the release programs into an OCI image archive, with its root and its SBOM beside it. See docs/image.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# Bytecode beside the sources would be part of nothing.
sys.dont_write_bytecode = True

import debian
import oci
import root as image_root
import sbom
from debian import ImageError
from release_build import ReleaseBuild

SBOM_PATH = "usr/share/doc/tessera/sbom.spdx.json"

# The same as in the Dockerfile. Nothing runs as root unless whoever runs the image says so: of our programs only the
# node plugin needs it, and its pod has to ask for privileges anyway.
CONFIG: oci.Json = {
    "Entrypoint": ["/usr/bin/tessera-kubelet-plugin"],
    "Env": ["PATH=/usr/bin", f"SSL_CERT_FILE=/{image_root.BUNDLE}"],
    "User": f"{image_root.NONROOT}:{image_root.NONROOT}",
    "WorkingDir": "/",
}


def git(source: Path, *arguments: str) -> str:
    """What Git answers; empty where the sources are no clone."""
    try:
        done = subprocess.run(["git", "-C", str(source), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def source_date(source: Path) -> int:
    """When the sources were last changed: https://reproducible-builds.org/specs/source-date-epoch/."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or git(source, "log", "-1", "--format=%ct")
    if not re.fullmatch(r"[0-9]+", text):
        raise ImageError("the date of the sources is not known here: set SOURCE_DATE_EPOCH to seconds since 1970")
    return int(text)


def labels(source: Path, version: str, epoch: int) -> dict[str, str]:
    prefix = "org.opencontainers.image."
    found = {
        "title": "tessera",
        "description": "A Dynamic Resource Allocation driver for NVIDIA GPUs",
        "licenses": "Apache-2.0",
        "version": version,
        "created": oci.timestamp(epoch),
    }
    if revision := git(source, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"):
        found["revision"] = revision
    return {prefix + name: value for name, value in found.items()}


def collect(build: ReleaseBuild, epoch: int) -> sbom.Contents:
    programs = []
    for name in image_root.PROGRAMS:
        made_of = build.ingredients(name)
        programs.append(sbom.Program(
            path=f"usr/bin/{name}",
            data=build.program(name),
            linked=frozenset(debian.owners(made_of.linked).values()),
            included=frozenset(debian.owners(made_of.included).values()),
        ))
    return sbom.Contents(build.version, debian.architecture(), epoch, image_root.runtime_packages(), programs)


def make_root(contents: sbom.Contents, bill: bytes, licence: bytes) -> image_root.Root:
    root = image_root.Root()
    image_root.add_base(root)
    image_root.add_licences(root, contents.packages(), licence)
    for program in contents.programs:
        root.add_file(program.path, program.data, 0o755)
    root.add_file(SBOM_PATH, bill)
    return root


def pack(build: ReleaseBuild, output: Path) -> None:
    epoch = source_date(build.source)
    contents = collect(build, epoch)
    bill = json.dumps(sbom.document(contents), indent=2, sort_keys=True).encode() + b"\n"
    layer = make_root(contents, bill, (build.source / "LICENSE").read_bytes()).layer(epoch)
    archive, digest = oci.archive(oci.Image(
        name=f"localhost/tessera:{build.version}",
        architecture=contents.architecture,
        epoch=epoch,
        config=CONFIG,
        labels=labels(build.source, build.version, epoch),
        layer=layer,
    ))
    output.mkdir(parents=True, exist_ok=True)
    stem = f"tessera-{build.version}-{contents.architecture}"
    for name, data in {
        f"{stem}.tar": archive,
        f"{stem}-root.tar": layer,
        f"{stem}.spdx.json": bill,
        f"{stem}.digest": f"{digest}\n".encode(),
        "Dockerfile": Path(__file__).with_name("Dockerfile").read_bytes(),
    }.items():
        (output / name).write_bytes(data)
    print(f"{output / stem}.tar: localhost/tessera:{build.version}, {len(archive) / 1e6:.1f} MB, {digest}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the release build folder")
    parser.add_argument("--output", type=Path, default=Path("build/image"), help="where the archive is written")
    arguments = parser.parse_args()
    try:
        pack(ReleaseBuild(arguments.build), arguments.output)
    except ImageError as error:
        print(f"make image: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
