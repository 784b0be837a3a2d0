"""systemd understands the unit, and finds the plugin where `make install` puts it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, SOURCE, needs

UNIT = "tessera-kubelet-plugin.service"
SYSTEM_UNITS = Path("/usr/lib/systemd/system")

pytestmark = needs(bool(shutil.which("systemd-analyze")), "systemd: tools/setup image-test")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host's root with systemd's own units, and ours as `make install` leaves it."""
    shutil.copytree(SYSTEM_UNITS, tmp_path / "usr/lib/systemd/system", symlinks=True)
    command = ["cmake", "--install", str(BUILD), "--prefix", "/usr/local"]
    subprocess.run(command, check=True, capture_output=True, env={"DESTDIR": str(tmp_path), "PATH": "/usr/bin:/bin"})
    return tmp_path


def verify(host: Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "verify", "--man=no", f"--root={host}", UNIT]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_unit_is_installed_where_systemd_looks_and_verifies(host: Path) -> None:
    installed = host / "usr/local/lib/systemd/system" / UNIT
    assert installed.read_bytes() == (SOURCE / "deploy/systemd" / UNIT).read_bytes()
    done = verify(host)
    assert (done.returncode, done.stderr) == (0, "")


def test_verifying_would_notice_a_missing_program(host: Path) -> None:
    (host / "usr/local/bin/tessera-kubelet-plugin").unlink()
    done = verify(host)
    assert done.returncode != 0
    assert "tessera-kubelet-plugin is not executable" in done.stderr


def test_example_of_the_environment_sets_only_variables_of_the_plugin() -> None:
    flags = (SOURCE / "src/cmd/tessera-kubelet-plugin/flags.cc").read_text()
    lines = (SOURCE / "deploy/systemd/kubelet-plugin.env").read_text().splitlines()
    names = [line.lstrip("#").partition("=")[0] for line in lines if "=" in line and not line.startswith("# ")]
    assert len(names) >= 4
    for name in names:
        assert f'"{name}"' in flags, name
