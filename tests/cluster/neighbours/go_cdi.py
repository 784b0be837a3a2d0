"""The Go driver's CDI files: everything that a container gets, in one file a claim; before v25.12.0 in one for the node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from harness import gpus
from harness.kubectl import Object
from harness.node import Node
from neighbours.go_devices import GoDevice
from neighbours.go_releases import GoRelease

_VENDOR = "k8s.gpu.nvidia.com"
_CONTROLS = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


class GoCdi:
    """Files in a node's CDI directory."""

    def __init__(self, node: Node, release: GoRelease, hook: Path) -> None:
        self._driver = node.driver_root
        self._directory = node.root / "run/cdi"
        self._release = release
        self._hook = hook

    def write_base(self, devices: Sequence[GoDevice]) -> None:
        """The file for the node, where the release has one."""
        if self._release.base_spec:
            named = {device.name: self._edits(device) for device in devices}
            self._write("device_base", "device", named, self._common_edits())

    def write_claim(self, uid: str, devices: Sequence[GoDevice]) -> None:
        if self._release.base_spec:
            void = {"env": ["NVIDIA_VISIBLE_DEVICES=void"]}
            self._write(f"claim_{uid}", "claim", {f"{uid}-{device.name}": void for device in devices}, {})
        else:
            named = {f"{uid}-{device.name}": self._edits(device) for device in devices}
            self._write(f"claim_{uid}", "claim", named, self._common_edits())

    def ids(self, uid: str, device: GoDevice) -> list[str]:
        base = [f"{_VENDOR}/device={device.name}"] if self._release.base_spec else []
        return [*base, f"{_VENDOR}/claim={uid}-{device.name}"]

    def claim_file(self, uid: str) -> Path:
        return self._file(f"claim_{uid}")

    def _file(self, name: str) -> Path:
        return self._directory / f"{_VENDOR}-{name}.yaml"

    def _write(self, name: str, kind: str, devices: dict[str, Object], common: Object) -> None:
        spec: Object = {
            "cdiVersion": "0.5.0",
            "kind": f"{_VENDOR}/{kind}",
            "devices": [{"name": name, "containerEdits": edits} for name, edits in devices.items()],
            "containerEdits": common,
        }
        self._directory.mkdir(exist_ok=True)
        self._file(name).write_text(yaml.safe_dump(spec), encoding="utf-8")

    def _edits(self, device: GoDevice) -> Object:
        nodes = [_node(f"nvidia{device.minor}")]
        if device.mig:
            instance = f"gpu{device.minor}/mig/gi{device.mig['gpuInstance']}"
            for capability in (instance, f"{instance}/ci{device.mig['computeInstance']}"):
                nodes.append(_node(f"nvidia-caps/nvidia-cap{self._capability(capability)}"))
        return {"deviceNodes": nodes}

    def _common_edits(self) -> Object:
        (library,) = self._driver.glob("usr/lib/*/libnvidia-ml.so.*.*")
        inside = Path("/") / library.relative_to(self._driver)
        link = ["--link", f"{inside.name}::{inside.with_name('libnvidia-ml.so.1')}"]
        args = [self._hook.name, "create-symlinks", *link]
        return {
            "env": ["NVIDIA_VISIBLE_DEVICES=void"],
            "deviceNodes": [_node(name) for name in _CONTROLS],
            "mounts": [_mount(inside), _mount(Path("/usr/bin/nvidia-smi"))],
            "hooks": [{"hookName": "createContainer", "path": str(self._hook), "args": args}],
        }

    def _capability(self, name: str) -> str:
        lines = (self._driver / "proc/driver/nvidia/capabilities" / name / "access").read_text("ascii").splitlines()
        return dict(line.split(": ") for line in lines)["DeviceFileMinor"]


def _node(name: str) -> Object:
    return {"path": f"/dev/{name}", "hostPath": str(gpus.DRIVER_ROOT / "dev" / name)}


def _mount(inside: Path) -> Object:
    options = ["ro", "nosuid", "nodev", "rbind", "rprivate"]
    return {"containerPath": str(inside), "hostPath": f"{gpus.DRIVER_ROOT}{inside}", "options": options}
