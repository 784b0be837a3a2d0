"""The image's root: which files are in it, and the one layer made of them."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import debian
import licences
from debian import ImageError, Package

PROGRAMS = ("tessera", "tessera-cdi-hook", "tessera-kubelet-plugin")

# Files by package. Our programs need libc and libm; names are looked up in files and in DNS by libc itself, from glibc
# 2.34 on. The node's libnvidia-ml.so.1 is loaded into a child process in this root: it also names libraries that glibc
# 2.34 emptied (driver 580: libdl, libpthread, librt), and libgcc_s is what glibc loads when a library ends a thread.
LIBRARIES = {
    "libc6": (
        "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0",
        "librt.so.1",
    ),
    "libgcc-s1": ("libgcc_s.so.1",),
}
CERTIFICATES = "ca-certificates"
BASE = "base-files"  # The distribution's name, for scanners, and the full texts of common licences.

NONROOT = 65532
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/:/sbin/nologin\n"
    f"nonroot:x:{NONROOT}:{NONROOT}:nonroot:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nnogroup:x:65534:\nnonroot:x:{NONROOT}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True)
class Entry:
    """A file, a link (`target`) or, with neither, a folder. Everything belongs to root."""

    mode: int
    data: bytes | None = None
    target: str = ""


class Root:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}  # By path, without the leading slash.

    def add(self, path: str, entry: Entry) -> None:
        relative = path.lstrip("/")
        if relative in self.entries:
            raise ImageError(f"/{relative} would be in the image twice")
        self.entries[relative] = entry

    def add_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.add(path, Entry(mode, data))

    def layer(self, epoch: int) -> bytes:
        """The same entries give the same bytes: sorted, with one time and one owner, and not compressed."""
        entries = dict(self.entries)
        for path in self.entries:
            for parent in list(Path(path).parents)[:-1]:
                entries.setdefault(str(parent), Entry(0o755))
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path in sorted(entries):
                info, data = _header(path, entries[path]), entries[path].data
                info.mtime = epoch
                archive.addfile(info, io.BytesIO(data) if data is not None else None)
        return buffer.getvalue()


def _header(path: str, entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.mode = entry.mode
    if entry.target:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    elif entry.data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(entry.data)
    return info


def runtime_packages() -> list[Package]:
    """The packages of which files are in the root as they are."""
    return [debian.package(name) for name in sorted([*LIBRARIES, CERTIFICATES, BASE])]


def add_base(root: Root) -> None:
    """Everything that any program needs: C library, certificates, users, a place for temporary files."""
    for name, wanted in LIBRARIES.items():
        _add_libraries(root, debian.package(name), wanted)
    root.add_file(BUNDLE, _certificates(debian.package(CERTIFICATES)))
    base = debian.package(BASE)
    root.add_file("usr/lib/os-release", debian.content(base, "/usr/lib/os-release"))
    root.add("etc/os-release", Entry(0o777, target="../usr/lib/os-release"))
    for path, text in TEXTS.items():
        root.add_file(path, text.encode())
    root.add("tmp", Entry(0o1777))
    for package in runtime_packages():
        root.add_file(f"var/lib/dpkg/status.d/{package.name}", debian.status(package))


def _add_libraries(root: Root, package: Package, wanted: tuple[str, ...]) -> None:
    for path in debian.paths(package):
        if os.path.basename(path) not in wanted:
            continue
        if os.path.islink(path):
            root.add(path, Entry(0o777, target=os.readlink(path)))
        else:
            root.add_file(path, debian.content(package, path), 0o755)


def _certificates(package: Package) -> bytes:
    """Of the package's files, and not this machine's bundle: that one may hold a certificate of its owner's."""
    folder = "/usr/share/ca-certificates/"
    files = sorted(path for path in debian.paths(package) if path.startswith(folder) and path.endswith(".crt"))
    return b"".join(debian.content(package, path).rstrip(b"\n") + b"\n" for path in files)


def add_licences(root: Root, packages: Iterable[Package], own: bytes) -> None:
    """Of everything that is inside, as files or compiled in, and the full texts that these refer to."""
    root.add_file("usr/share/doc/tessera/copyright", own)
    texts: set[str] = set()
    for package in sorted(set(packages)):
        text = debian.copyright_text(package)
        if licences.declared(text) == "BSL-1.0":
            continue  # Boost's licence asks for no notice in object code, and Debian's file about it has 2 MB.
        root.add_file(f"usr/share/doc/{package.name}/copyright", text.encode())
        texts |= licences.common(text)
    for name in sorted(texts):
        path = f"/usr/share/common-licenses/{name}"
        root.add_file(path, debian.content(debian.package(BASE), os.path.realpath(path)))
