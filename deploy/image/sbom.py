"""The bill of materials: SPDX 2.3, https://spdx.github.io/spdx-spec/v2.3/."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import debian
import licences
import oci
from debian import Package

Json = dict[str, Any]

TESSERA = "SPDXRef-Package-tessera"


@dataclass(frozen=True)
class Program:
    path: str
    data: bytes
    linked: frozenset[Package]  # Code out of their archives is in it.
    included: frozenset[Package]  # Code out of their headers is in it.


@dataclass(frozen=True)
class Contents:
    version: str
    architecture: str
    epoch: int
    runtime: list[Package]  # Files of theirs are in the image.
    programs: list[Program]

    def packages(self) -> list[Package]:
        compiled = [package for program in self.programs for package in program.linked | program.included]
        return sorted({*self.runtime, *compiled})


def document(contents: Contents) -> Json:
    packages = [_own(contents), *(_package(package) for package in contents.packages())]
    files = [_file(program) for program in contents.programs]
    relationships = _relationships(contents)
    # One name for one content, also when it is made again elsewhere.
    fingerprint = hashlib.sha256(oci.to_json([packages, files, relationships])).hexdigest()
    name = f"tessera-{contents.version}-{contents.architecture}"
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{fingerprint}",
        "creationInfo": {
            "created": oci.timestamp(contents.epoch),
            "creators": [f"Tool: tessera-image-{contents.version}"],
        },
        "packages": packages,
        "files": files,
        "relationships": relationships,
    }


def _own(contents: Contents) -> Json:
    return {
        "SPDXID": TESSERA,
        "name": "tessera",
        "versionInfo": contents.version,
        "primaryPackagePurpose": "CONTAINER",
        "downloadLocation": licences.NOASSERTION,
        "filesAnalyzed": False,
        "licenseConcluded": licences.NOASSERTION,
        "licenseDeclared": "Apache-2.0",
        "copyrightText": licences.NOASSERTION,
        "externalRefs": [_purl(f"pkg:generic/tessera@{contents.version}")],
    }


def _package(package: Package) -> Json:
    return {
        "SPDXID": _id("Package", package.name),
        "name": package.name,
        "versionInfo": package.version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"built by Debian from {package.source} {package.source_version}",
        "downloadLocation": licences.NOASSERTION,
        "filesAnalyzed": False,
        "licenseConcluded": licences.NOASSERTION,
        "licenseDeclared": licences.declared(debian.copyright_text(package)),
        "copyrightText": licences.NOASSERTION,
        "externalRefs": [_purl(package.purl)],
    }


def _file(program: Program) -> Json:
    return {
        "SPDXID": _id("File", program.path),
        "fileName": f"./{program.path}",
        "fileTypes": ["BINARY"],
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(program.data, usedforsecurity=False).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(program.data).hexdigest()},
        ],
        "licenseConcluded": licences.NOASSERTION,
        "copyrightText": licences.NOASSERTION,
    }


def _relationships(contents: Contents) -> list[Json]:
    found = [_relationship("SPDXRef-DOCUMENT", "DESCRIBES", TESSERA)]
    found += [_relationship(TESSERA, "CONTAINS", _id("Package", package.name)) for package in contents.runtime]
    for program in contents.programs:
        file = _id("File", program.path)
        found.append(_relationship(TESSERA, "CONTAINS", file))
        for package in sorted(program.linked | program.included):
            how = "archive" if package in program.linked else "headers only"
            found.append(_relationship(file, "STATIC_LINK", _id("Package", package.name)) | {"comment": how})
    return found


def _relationship(element: str, kind: str, related: str) -> Json:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}


def _purl(locator: str) -> Json:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}


def _id(kind: str, name: str) -> str:
    """Letters, digits, dots and hyphens are all that SPDX allows; a plus is spelled out, so that names stay apart."""
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", ".plus"))
