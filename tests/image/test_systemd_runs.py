"""The unit under a real systemd: it starts, and a plugin that no kubelet could reach is restarted."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import BUILD, SOURCE, needs

UNIT = "tessera-kubelet-plugin.service"
PLUGIN = Path("/var/lib/kubelet/plugins/gpu.nvidia.com")
PATIENCE = 60  # Seconds, for what must happen; nothing waits for it in vain.

possible = os.geteuid() == 0 and Path("/lib/systemd/systemd").exists()
pytestmark = needs(possible, "root, and systemd: tools/setup image-test")


def eventually(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Host:
    """A host that runs systemd, seen from outside."""

    def __init__(self, init: int, logs: Path) -> None:
        self._init = init
        self._logs = logs

    def run(self, *command: str) -> str:
        inside = ["nsenter", f"--target={self._init}", "--mount", "--pid", "--ipc", "--uts", "--cgroup", *command]
        return subprocess.run(inside, check=True, capture_output=True, text=True).stdout.strip()

    def show(self, name: str) -> str:
        try:
            return self.run("systemctl", "show", UNIT, "--property", name, "--value")
        except subprocess.CalledProcessError:  # Not up yet.
            return ""

    def wait(self, **properties: str) -> None:
        for name, value in properties.items():
            eventually(lambda: self.show(name) == value, f"{name} does not become {value}; see {self._logs}/*.log")

    def path(self, path: Path) -> Path:
        """The host's own, from outside."""
        return Path(f"/proc/{self._init}/root{path}")

    def exists(self, path: Path) -> bool:
        return self.path(path).exists()

    def wait_for(self, path: Path) -> None:
        eventually(lambda: self.exists(path), f"{path} does not appear; see {self._logs}/*.log")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of an API server."""
    folder = tmp_path / "api"
    folder.mkdir()
    command = [str(BUILD / "bin/tessera-standin"), "api", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("ready ")
        yield folder / "kubeconfig"
        server.kill()


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A group of its own, so that systemd's groups are below it."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    unified = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    if unified is None:
        pytest.skip("no cgroup2 is mounted")
    group = unified / f"tessera-test-{os.getpid()}"
    group.mkdir()
    yield group
    eventually(lambda: "populated 0" in (group / "cgroup.events").read_text(), f"{group} has processes")
    for folder, _, _ in os.walk(group, topdown=False):
        os.rmdir(folder)


def lay_out(folder: Path, kubeconfig: Path) -> None:
    """A host as docs/image.md says, and targets that pull in nothing else. The watchdog is quicker, to save time."""
    for name in ("bin", "etc/tessera", f"units/{UNIT}.d"):
        (folder / name).mkdir(parents=True)
    for name in ("tessera-kubelet-plugin", "tessera-cdi-hook"):
        shutil.copy(BUILD / "bin" / name, folder / "bin")
    shutil.copy(kubeconfig, folder / "etc/tessera/kubeconfig")
    (folder / "etc/tessera/kubelet-plugin.env").write_text("NODE_NAME=node-a\n")
    shutil.copy(SOURCE / "deploy/systemd" / UNIT, folder / "units")
    log = folder / "plugin.log"
    (folder / f"units/{UNIT}.d/test.conf").write_text(f"[Service]\nWatchdogSec=6s\nStandardError=append:{log}\n")
    for name in ("sysinit", "basic", "shutdown"):
        (folder / f"units/{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    (folder / "units/test.target").write_text(f"[Unit]\nDefaultDependencies=no\nWants={UNIT}\n")


@pytest.fixture
def host(tmp_path: Path, kubeconfig: Path, cgroup: Path) -> Iterator[Host]:
    folder = tmp_path / "host"
    lay_out(folder, kubeconfig)
    namespaces = ["--pid", "--mount", "--uts", "--ipc", "--cgroup", "--mount-proc", "--propagation=private"]
    boot = [str(SOURCE / "tests/image/boot-systemd"), str(folder)]
    command = ["unshare", "--fork", "--kill-child", *namespaces, *boot]

    def join_cgroup() -> None:
        (cgroup / "cgroup.procs").write_text("0")

    log = (folder / "boot.log").open("wb")
    with log, subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=join_cgroup) as outer:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        eventually(lambda: bool(children.read_text().split()), "unshare has started nothing")
        started = Host(int(children.read_text().split()[0]), folder)
        try:
            started.wait(ActiveState="active")
            yield started
        finally:
            outer.kill()


def test_nothing_is_left_outside(request: pytest.FixtureRequest) -> None:
    def temporary() -> set[str]:
        return {name for folder in ("/tmp", "/var/tmp") for name in os.listdir(folder) if name.startswith("systemd-private-")}

    before = temporary()
    request.getfixturevalue("host")
    assert temporary() == before


def test_unit_starts_with_all_that_it_is_denied(host: Host) -> None:
    host.wait_for(PLUGIN / "dra.sock")
    host.wait_for(Path("/var/lib/kubelet/plugins_registry/gpu.nvidia.com-reg.sock"))
    eventually(lambda: int(host.show("WatchdogTimestampMonotonic")) > 0, "the watchdog is not fed")
    assert host.exists(Path("/run/cdi"))
    assert host.show("NRestarts") == "0"


def test_plugin_that_no_kubelet_could_reach_is_restarted(host: Host) -> None:
    host.wait_for(PLUGIN / "dra.sock")
    host.run("rm", str(PLUGIN / "dra.sock"))
    eventually(lambda: host.show("StatusText").startswith("NobodyListens: "), "the status does not say why")
    host.wait(NRestarts="1", ActiveState="active")
    host.wait_for(PLUGIN / "dra.sock")


def test_plugin_that_hangs_is_restarted(host: Host) -> None:
    host.run("kill", "-STOP", host.show("MainPID"))
    host.wait(NRestarts="1", ActiveState="active")


def test_wrong_flags_are_not_tried_again(host: Host) -> None:
    host.path(Path("/etc/tessera/kubelet-plugin.env")).write_text("NODE_NAME=not_a_name\n")
    host.run("systemctl", "restart", "--no-block", UNIT)
    host.wait(ActiveState="failed")
    assert (host.show("ExecMainStatus"), host.show("NRestarts")) == ("2", "0")


def test_stopping_is_clean_and_leaves_the_cdi_directory(host: Host) -> None:
    host.wait_for(PLUGIN / "dra.sock")
    host.run("systemctl", "stop", UNIT)
    assert (host.show("ActiveState"), host.show("Result")) == ("inactive", "success")
    assert not host.exists(PLUGIN / "dra.sock")
    assert host.exists(Path("/run/cdi"))
