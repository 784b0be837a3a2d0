"""What is in the image's root, and what is not."""

from __future__ import annotations

import os
import re
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import BUILD, Packed, needs

PROGRAMS = ("tessera", "tessera-cdi-hook", "tessera-kubelet-plugin")


def files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def elf_files(root: Path) -> Iterator[Path]:
    return (path for path in files(root) if path.open("rb").read(4) == b"\x7fELF")


def readelf(path: Path, *options: str) -> str:
    command = ["readelf", "--wide", *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_only_our_programs_can_be_run(root: Path) -> None:
    runnable = {path.relative_to(root).as_posix() for path in files(root) if os.access(path, os.X_OK)}
    libraries = {path for path in runnable if re.search(r"\.so(\.[0-9]+)*$", path)}
    assert runnable - libraries == {f"usr/bin/{name}" for name in PROGRAMS}


def test_programs_are_those_of_the_build(root: Path) -> None:
    for name in PROGRAMS:
        assert (root / "usr/bin" / name).read_bytes() == (BUILD / "bin" / name).read_bytes()


def test_nothing_is_setuid_and_only_tmp_is_writable_by_all(root: Path) -> None:
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path
        assert stat.S_ISLNK(mode) or not mode & stat.S_IWOTH or path == root / "tmp", path
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777


def test_every_needed_library_and_loader_is_inside(root: Path) -> None:
    names = {path.name for path in root.rglob("*")}
    checked = 0
    for path in elf_files(root):
        checked += 1
        for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", readelf(path, "--dynamic")):
            assert needed in names, f"{path.name} needs {needed}"
        for loader in re.findall(r"program interpreter: (\S+)\]", readelf(path, "--program-headers")):
            assert (root / loader.lstrip("/")).exists() or (root / loader.lstrip("/")).is_symlink(), loader
    assert checked > len(PROGRAMS)


def test_hook_needs_nothing_because_it_runs_on_the_host(root: Path) -> None:
    hook = root / "usr/bin/tessera-cdi-hook"
    assert "program interpreter" not in readelf(hook, "--program-headers")
    assert "(NEEDED)" not in readelf(hook, "--dynamic")


# What `readelf -d libnvidia-ml.so.1` of driver 580 names, and what glibc loads when a library ends a thread.
NVIDIA_NEEDS = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1")


@pytest.mark.parametrize("library", NVIDIA_NEEDS)
def test_nvidia_library_finds_what_it_needs(root: Path, library: str) -> None:
    assert list(root.rglob(library))


@needs(os.geteuid() == 0, "root, to change the root")
@pytest.mark.parametrize("program", ["tessera", "tessera-kubelet-plugin"])
def test_programs_start_in_the_root_without_privileges(root: Path, packed: Packed, program: str) -> None:
    for folder in (root, *root.parents):  # pytest's folders are its user's alone.
        if folder.owner() == "root" and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    command = ["chroot", "--userspec=65532:65532", str(root), f"/usr/bin/{program}", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"{program} {packed.sbom['packages'][0]['versionInfo']}"


@needs(os.geteuid() == 0, "root, to change the root")
def test_nvml_is_loaded_from_the_node_into_the_root(packed: Packed, tmp_path: Path) -> None:
    """As in a pod: the node's driver is below /driver-root, and its library finds what it needs in the image."""
    inside = packed.unpack(tmp_path)
    machine = ["--quiet", "--profile=dgx-h100", f"--root={inside}/driver-root"]
    subprocess.run([str(BUILD / "bin/tessera-sim"), "create", *machine], check=True)
    for folder in ("proc", "dev"):
        (inside / folder).mkdir()
    os.mknod(inside / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    namespaces = ["unshare", "--fork", "--pid", "--mount", f"--mount-proc={inside}/proc", "chroot", str(inside)]
    devices = ["/usr/bin/tessera", "devices", "--driver-root=/driver-root", "--sysfs-root=/driver-root/sys"]
    done = subprocess.run([*namespaces, *devices], check=True, capture_output=True, text=True)
    assert done.stdout.count("NVIDIA H100 80GB HBM3") == 8, done.stdout


def test_certificates_are_the_packages_and_nobody_elses(root: Path) -> None:
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    shipped = list(Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))
    context = ssl.create_default_context(cafile=str(bundle))
    assert len(context.get_ca_certs()) == bundle.read_text().count("BEGIN CERTIFICATE") == len(shipped) > 100


def test_every_package_inside_brings_its_licence(root: Path, packed: Packed) -> None:
    assert "Apache License" in (root / "usr/share/doc/tessera/copyright").read_text()
    for package in packed.sbom["packages"]:
        if package["licenseDeclared"] != "BSL-1.0":
            assert (root / "usr/share/doc" / package["name"] / "copyright").stat().st_size > 0, package["name"]


def test_full_texts_that_licences_refer_to_are_inside(root: Path) -> None:
    for path in (root / "usr/share/doc").glob("*/copyright"):
        for name in re.findall(r"/usr/share/common-licenses/(\w+-[0-9](?:\.[0-9])?)", path.read_text()):
            assert (root / "usr/share/common-licenses" / name).exists(), f"{path.parent.name}: {name}"


def test_scanners_find_the_distribution_and_its_packages(root: Path) -> None:
    assert "ID=debian" in (root / "usr/lib/os-release").read_text()
    assert os.readlink(root / "etc/os-release") == "../usr/lib/os-release"
    described = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert described == {"base-files", "ca-certificates", "libc6", "libgcc-s1"}
