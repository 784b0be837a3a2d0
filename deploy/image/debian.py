"""What the build machine's package database knows: owners of files, versions, licences.

Debian's tools are asked with argument lists; nothing passes through a shell.
"""

from __future__ import annotations

import functools
import hashlib
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class ImageError(Exception):
    """Something that a person has to put right; the text says what."""


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str

    @property
    def qualified(self) -> str:
        """The name that dpkg never finds ambiguous."""
        return self.name if self.architecture == "all" else f"{self.name}:{self.architecture}"

    @property
    def purl(self) -> str:
        version = self.version.replace("+", "%2B").replace(":", "%3A")
        name = self.name.replace("+", "%2B")
        return f"pkg:deb/debian/{name}@{version}?arch={self.architecture}"


def _ask(*command: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is missing: the image is made of Debian packages, so build it there") from error
    except subprocess.CalledProcessError as error:
        raise ImageError(f"{' '.join(command[:3])}: {error.stderr.strip()}") from error


def architecture() -> str:
    return _ask("dpkg", "--print-architecture").strip()


@functools.cache
def package(name: str) -> Package:
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${db:Status-Status}\n"
    fields = _ask("dpkg-query", "--show", "--showformat", form, name).strip().split("\t")
    if fields.pop() != "installed":
        raise ImageError(f"package {name} is not installed; run tools/setup build image")
    return Package(*fields)


def owners(files: Iterable[str]) -> dict[str, Package]:
    """The package of each file. Fails when one has none: an SBOM cannot name it."""
    wanted = sorted(set(files))
    found: dict[str, Package] = {}
    for line in _ask("dpkg-query", "--search", *wanted).splitlines() if wanted else []:
        names, _, path = line.partition(": ")
        if not names.startswith("diversion by "):
            found[path] = package(names.split(", ")[0])
    for path in wanted:
        if path not in found:
            raise ImageError(f"{path} belongs to no Debian package")
    return found


def paths(owner: Package) -> list[str]:
    return _ask("dpkg-query", "--listfiles", owner.qualified).splitlines()


@functools.cache
def _checksums(owner: Package) -> dict[str, str]:
    lines = _ask("dpkg-query", "--control-show", owner.qualified, "md5sums").splitlines()
    return {"/" + path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def content(owner: Package, path: str) -> bytes:
    """A file as the package shipped it. Fails when somebody changed it on this machine."""
    data = Path(path).read_bytes()
    if _checksums(owner).get(path) != hashlib.md5(data, usedforsecurity=False).hexdigest():
        raise ImageError(f"{path} is not as package {owner.name} shipped it; reinstall the package")
    return data


def status(owner: Package) -> bytes:
    """The package's own description, as scanners look for it in images without a package manager."""
    return _ask("dpkg-query", "--status", owner.qualified).encode()


def copyright_text(owner: Package) -> str:
    path = Path("/usr/share/doc") / owner.name / "copyright"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ImageError(f"{path} is missing, so the image would lack a licence; reinstall {owner.name}") from error
