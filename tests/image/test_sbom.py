"""The SBOM follows SPDX 2.3, and says what is really inside."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import SOURCE, Packed

Json = dict[str, Any]

PLUGIN = "SPDXRef-File-usr-bin-tessera-kubelet-plugin"
HOOK = "SPDXRef-File-usr-bin-tessera-cdi-hook"
PURL = re.compile(r"pkg:(deb/debian|generic)/[A-Za-z0-9.%-]+@[A-Za-z0-9.%~-]+(\?arch=[a-z0-9]+)?")
# Of https://spdx.org/licenses/, those that may turn up here.
SPDX_LICENCES = {
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-or-later",
    "ISC", "LGPL-2.1-or-later", "MIT", "MPL-2.0", "Zlib",
}


def elements(document: Json) -> list[Json]:
    return [*document["packages"], *document["files"]]


def made_of(document: Json, file: str) -> dict[str, str]:
    """Package names whose code is in a program, and how it got there."""
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    return {
        names[relationship["relatedSpdxElement"]]: relationship["comment"]
        for relationship in document["relationships"]
        if relationship["spdxElementId"] == file and relationship["relationshipType"] == "STATIC_LINK"
    }


# Chapters of the specification: 6 (document), 7 (packages), 8 (files), 11 (relationships).


def test_document_says_what_it_is(packed: Packed) -> None:
    document = packed.sbom
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"https://[^#\s]+", document["documentNamespace"])
    info = document["creationInfo"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", info["created"])
    assert all(re.match(r"(Tool|Person|Organization): \S", creator) for creator in info["creators"])


def test_identifiers_are_valid_and_unique(packed: Packed) -> None:
    identifiers = Counter(element["SPDXID"] for element in elements(packed.sbom))
    for identifier, count in identifiers.items():
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier)
        assert count == 1, identifier


def test_packages_have_every_field_that_is_required(packed: Packed) -> None:
    for package in packed.sbom["packages"]:
        assert package["name"] and package["versionInfo"] and package["downloadLocation"], package
        assert package["filesAnalyzed"] is False, "true asks for a verification code"
        for reference in package["externalRefs"]:
            assert reference["referenceCategory"] == "PACKAGE-MANAGER"
            assert PURL.fullmatch(reference["referenceLocator"]), reference


def test_licences_are_expressions_of_known_identifiers(packed: Packed) -> None:
    declared = {package["name"]: package["licenseDeclared"] for package in packed.sbom["packages"]}
    for expression in declared.values():
        assert expression == "NOASSERTION" or set(re.split(" AND | OR ", expression)) <= SPDX_LICENCES, expression
    assert (declared["libssl-dev"], declared["libyaml-dev"], declared["libc6"]) == ("Apache-2.0", "MIT", "NOASSERTION")


def test_files_are_those_in_the_root(packed: Packed, root: Path) -> None:
    for file in packed.sbom["files"]:
        data = (root / file["fileName"]).read_bytes()
        sums = {each["algorithm"]: each["checksumValue"] for each in file["checksums"]}
        assert sums == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}


def test_relationships_join_what_exists_and_leave_nothing_out(packed: Packed) -> None:
    known = {element["SPDXID"] for element in elements(packed.sbom)} | {"SPDXRef-DOCUMENT"}
    related: set[str] = set()
    for relationship in packed.sbom["relationships"]:
        assert relationship["relationshipType"] in {"DESCRIBES", "CONTAINS", "STATIC_LINK"}
        assert relationship["spdxElementId"] in known
        related.add(relationship["relatedSpdxElement"])
    assert related | {"SPDXRef-DOCUMENT"} == known


# What it says is checked against sources that the packing does not use.


def test_versions_are_those_that_are_installed(packed: Packed) -> None:
    for package in packed.sbom["packages"][1:]:
        command = ["dpkg-query", "--show", "--showformat", "${Version}", package["name"]]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == package["versionInfo"]


def test_own_version_is_that_of_the_sources(packed: Packed) -> None:
    declared = re.search(r"project\(tessera VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())
    assert declared and packed.sbom["packages"][0]["versionInfo"] == declared.group(1)


# How a library tells its own version inside a program.
MARKS = {"libssl-dev": rb"(?<=\0)3\.0\.[0-9]+(?=\0)", "zlib1g-dev": rb"(?<= inflate )[0-9.]+(?= Copyright)"}


@pytest.mark.parametrize("package", MARKS)
def test_versions_are_those_that_the_program_itself_tells(packed: Packed, root: Path, package: str) -> None:
    versions = {each["name"]: each["versionInfo"] for each in packed.sbom["packages"]}
    upstream = re.match(r"(?:\d+:)?(\d+\.\d+\.\d+)", versions[package])
    assert upstream
    inside = re.findall(MARKS[package], (root / "usr/bin/tessera-kubelet-plugin").read_bytes())
    assert upstream.group(1).encode() in inside


def test_plugin_names_all_libraries_that_the_build_links(packed: Packed) -> None:
    inside = made_of(packed.sbom, PLUGIN)
    archives = {
        "libgrpc-dev", "libgrpc++-dev", "libprotobuf-dev", "libabsl-dev", "libssl-dev", "libyaml-dev", "libc-ares-dev",
        "zlib1g-dev", "libstdc++-12-dev", "libgcc-12-dev",
    }
    headers = {"libboost1.81-dev", "libfmt-dev", "libcli11-dev"}
    assert {name for name in archives if inside.get(name) != "archive"} == set()
    assert {name for name in headers if inside.get(name) != "headers only"} == set()


def test_hook_holds_the_c_library_and_no_grpc(packed: Packed) -> None:
    inside = made_of(packed.sbom, HOOK)
    assert inside["libc6-dev"] == "archive"
    assert not {"libgrpc-dev", "libgrpc++-dev", "libssl-dev"} & set(inside)


def test_sbom_in_the_image_is_the_one_beside_it(packed: Packed, root: Path) -> None:
    assert (root / "usr/share/doc/tessera/sbom.spdx.json").read_bytes() == packed.one("*.spdx.json").read_bytes()
