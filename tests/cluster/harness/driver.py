"""Installs the driver as a user does: its image, then its chart with Helm."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from harness import gpus, programs
from harness.errors import ClusterError, run
from harness.lifecycle import Running
from harness.places import CHART, DRIVER_NAMESPACE, IMAGES
from harness.waiting import wait_for

NAMESPACE = DRIVER_NAMESPACE
VERDICTS = "/etc/tessera/verdicts"  # On the nodes.
_SHORT = "2s"  # Instead of minutes, so that tests can wait for recovery.
_HEALTH = {
    "period": "1s",
    "verdictsDirectory": VERDICTS,
    "policy": {
        "xids": {"79": {"hold": _SHORT}, "95": {"severity": "unusable", "hold": _SHORT}},
        "reasons": {
            "GpuLost": {"hold": _SHORT},
            "EccUncorrected": {"hold": _SHORT},
            "RowRemapPending": {"hold": _SHORT},
            "NvlinkDown": {"confirm": "0s", "hold": _SHORT},
            "ThermalSlowdown": {"confirm": "0s", "hold": _SHORT},
            "DeviceNodeMissing": {"mode": "evict", "hold": _SHORT},
        },
    },
}


def install(running: Running, extra: dict[str, Any] | None = None) -> None:
    """Once a cluster; returns when every node has published its devices."""
    if not is_installed(running):
        _install(running, extra or {})
        _mark(running).touch()


def is_installed(running: Running) -> bool:
    """Whether install() has done its work on this cluster."""
    return _mark(running).exists()


def helm(running: Running, *words: str, stdin: str | None = None, timeout: float = 300) -> str:
    """Helm of the pinned release, as the cluster's administrator."""
    program = programs.ensure(programs.HELM) / "helm"
    home = running.cluster.dir / "helm"
    env = {"KUBECONFIG": str(running.cluster.kubeconfig), "PATH": os.environ["PATH"], "HOME": str(home)}
    for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"):
        env[name] = str(home)
    return run([program, *words], stdin=stdin, env=env, timeout=timeout)


def image_archive() -> Path:
    archives = [archive for archive in IMAGES.glob("tessera-*.tar") if not archive.stem.endswith("-root")]
    if len(archives) != 1:
        found = ", ".join(archive.name for archive in archives) or "none"
        raise ClusterError(f"one image archive is expected in {IMAGES}; found: {found}; make image writes it")
    return archives[0]


def values(image: str) -> dict[str, Any]:
    """What differs from a user's: the image is local, the simulated driver brings its own /sys and /proc, health is quick."""
    repository, _, tag = image.rpartition(":")
    inside = Path("/driver-root") / gpus.DRIVER_ROOT.name  # The chart mounts the root's parent.
    env = [
        {"name": "SYSFS_ROOT", "value": str(inside / "sys")},
        {"name": "PROCFS_ROOT", "value": str(inside / "proc")},
    ]
    return {
        "nvidiaDriverRoot": str(gpus.DRIVER_ROOT),
        "gpuResourcesEnabledOverride": True,
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "kubeletPlugin": {"containers": {"gpus": {"env": env}}},
        "health": _HEALTH,
    }


def current_values(running: Running) -> str:
    """What the release was installed with, as YAML."""
    return helm(running, "get", "values", "tessera", "--namespace", NAMESPACE, "--output", "yaml")


def deploy(running: Running, given: str, *options: str) -> None:
    """Installs the chart or brings it to these values, and does not wait for what comes of it."""
    where = ["--namespace", NAMESPACE, "--create-namespace", "--values=-"]
    helm(running, "upgrade", "--install", "tessera", str(CHART), *where, *options, stdin=given)


def upgrade(running: Running, given: str, *options: str) -> None:
    """The same; returns when every node has published its devices."""
    deploy(running, given, "--wait", "--timeout=120s", *options)
    wait_for_slices(running)


def uninstall(running: Running) -> None:
    """And wait for its pods. Deleted in the background, they stay when its DaemonSet comes back before all controllers looked."""
    helm(running, "uninstall", "tessera", "--namespace", NAMESPACE, "--wait", "--cascade=foreground")


@contextmanager
def absent(running: Running) -> Iterator[None]:
    """Uninstalled for as long as this lasts; then installed with the values that it had."""
    given = current_values(running)
    uninstall(running)
    try:
        yield
    finally:
        upgrade(running, given)


def wait_for_slices(running: Running, timeout: float = 60) -> None:
    """Every node has published devices."""
    wanted = {node.name for node in running.nodes}

    def published() -> bool:
        slices = running.kubectl.items("resourceslices")
        return wanted <= {each["spec"].get("nodeName") for each in slices if each["spec"].get("devices")}

    wait_for("ResourceSlices of all nodes", published, timeout)


def _mark(running: Running) -> Path:
    return running.cluster.dir / "driver.installed"


def _install(running: Running, extra: dict[str, Any]) -> None:
    archive = image_archive()
    for node in running.nodes:
        node.import_image(archive)
    image = next(name for name in running.nodes[0].images() if "/tessera:" in name)
    upgrade(running, yaml.safe_dump({**values(image), **extra}))
