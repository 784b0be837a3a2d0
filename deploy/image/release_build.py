"""A release build: its version, its programs, and what they are made of.

The linker (its map) and the compiler (Ninja's dependencies) are asked for the last, so that the list cannot be wrong.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian import ImageError

# Archives that gave nothing appear as LOAD lines only. Headings are in the builder's language, so none is looked for.
_MEMBER = re.compile(r"^(\S+\.a)\((\S+)\)", re.MULTILINE)
_OBJECT = re.compile(r"^LOAD (\S+\.o)$", re.MULTILINE)


@dataclass(frozen=True)
class Ingredients:
    """Files of the build machine whose code is in a program."""

    linked: frozenset[str]  # Archives and start files.
    included: frozenset[str]  # Headers of the objects that were linked.


@dataclass(frozen=True)
class _LinkMap:
    members: set[tuple[str, str]]  # Archive and member that was taken out of it.
    objects: set[str]


def _read_map(path: Path) -> _LinkMap:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ImageError(f"{path} is missing; build the release programs first: make all") from error
    link = _LinkMap(set(_MEMBER.findall(text)), set(_OBJECT.findall(text)))
    if not link.members or not link.objects:
        raise ImageError(f"{path} is no link map of GNU ld")
    return link


def _read_headers(build: Path) -> dict[str, set[str]]:
    """Headers by object file, relative to the build folder."""
    command = ["ninja", "-C", str(build), "-t", "deps"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    headers: dict[str, set[str]] = {}
    for paragraph in listing.split("\n\n"):
        lines = paragraph.splitlines()
        if lines and ": #deps" in lines[0]:
            headers[lines[0].partition(":")[0]] = {line.strip() for line in lines[1:]}
    return headers


class ReleaseBuild:
    """A build folder of the preset `release`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.version = self._setting("CMAKE_PROJECT_VERSION")
        self.source = Path(self._setting("CMAKE_HOME_DIRECTORY"))
        self._headers = _read_headers(self.folder)

    def program(self, name: str) -> bytes:
        return (self.folder / "bin" / name).read_bytes()

    def ingredients(self, program: str) -> Ingredients:
        link = _read_map(self.folder / f"{program}.map")
        objects = {path for path in link.objects if path in self._headers}
        objects |= {self._object(archive, member) for archive, member in link.members if self._is_ours(archive)}
        linked = {archive for archive, _ in link.members} | link.objects
        included = set[str]().union(*(self._headers[each] for each in objects))
        return Ingredients(self._foreign(linked), self._foreign(included))

    def _setting(self, name: str) -> str:
        cache = self.folder / "CMakeCache.txt"
        try:
            found = re.search(rf"^{name}:\w+=(.+)$", cache.read_text(encoding="utf-8"), re.MULTILINE)
        except OSError as error:
            raise ImageError(f"{cache} is missing; build the release programs first: make all") from error
        if not found:
            raise ImageError(f"{cache} does not say {name}; configure anew: make clean all")
        return found.group(1)

    def _object(self, archive: str, member: str) -> str:
        """CMake compiles member x.cc.o of libNAME.a as NAME.dir/…/x.cc.o."""
        target = Path(archive).stem.removeprefix("lib")
        pattern = re.compile(rf"/{re.escape(target)}\.dir/(.*/)?{re.escape(member)}$")
        found = [path for path in self._headers if pattern.search(path)]
        if len(found) != 1:
            raise ImageError(f"{archive}({member}): {len(found)} objects of that name; build anew: make clean all")
        return found[0]

    def _absolute(self, path: str) -> str:
        return os.path.normpath(self.folder / path)

    def _is_ours(self, path: str) -> bool:
        return Path(self._absolute(path)).is_relative_to(self.source)

    def _foreign(self, paths: set[str]) -> frozenset[str]:
        """By the names that packages know: clang takes start files from /lib, which is a link to /usr/lib."""
        absolute = (Path(self._absolute(path)) for path in paths if not self._is_ours(path))
        return frozenset(str(path.parent.resolve() / path.name) for path in absolute)
