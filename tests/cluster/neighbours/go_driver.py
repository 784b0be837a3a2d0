"""The Go driver on one node, as far as anybody who comes before or after it can tell.

It serves the kubelet at the Go driver's sockets, holds its lock, and writes its checkpoint, CDI files and slices in the
form of a chosen release. It runs in the test's own process and reaches into the node.
"""

from __future__ import annotations

import fcntl
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import grpc

from harness.errors import ClusterError
from harness.kubectl import Object
from harness.lifecycle import Running
from harness.node import Node
from harness.places import PROGRAMS
from harness.waiting import wait_for
from neighbours import go_checkpoint, messages
from neighbours.go_cdi import GoCdi
from neighbours.go_devices import GoDevice, find_devices, record
from neighbours.go_releases import GoRelease
from neighbours.grpc_socket import Method, Service, leave_dead_socket, serve, stop

DRIVER = "gpu.nvidia.com"
PLUGIN = Path("/var/lib/kubelet/plugins", DRIVER)  # In the node.
REGISTRATION = Path("/var/lib/kubelet/plugins_registry", f"{DRIVER}-reg.sock")
SERVICE = PLUGIN / "dra.sock"
_HOOK = PLUGIN / "nvidia-cdi-hook"


class Extra(Enum):
    """What a claim may use of the Go driver's that has to be undone, by nobody but itself."""

    NOTHING = "nothing"
    MPS = "MPS"
    TIME_SLICE = "a time slice"
    VFIO = "VFIO"
    MIG_ON_DEMAND = "MIG on demand"


class GoDriver:
    """Serves while its `with` lasts. Starting fails where the release itself would crash: at a checkpoint it refuses."""

    def __init__(
        self, running: Running, node: Node, release: GoRelease, *, resume: bool = True, extra: Extra = Extra.NOTHING
    ) -> None:
        """`resume`: goes on from the checkpoint that is there, and refuses another release's. `extra`: claims are recorded
        as using this, and devices published so; nothing is done to them."""
        self.release = release
        self.devices = {device.name: device for device in find_devices(node, release)}
        self.cdi = GoCdi(node, release, _HOOK)
        self.claims: go_checkpoint.Claims = {}
        self._running, self._node, self._resume, self._extra = running, node, resume, extra
        self._root = node.root
        self._directory = self._inside(PLUGIN)
        self._mutex = threading.Lock()  # Guards `claims`.
        self._registered = threading.Event()
        self._servers: list[grpc.Server] = []

    def __enter__(self) -> GoDriver:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._read_checkpoint()
        shutil.copy(PROGRAMS / "tessera-cdi-hook", self._inside(_HOOK))  # It takes the same commands.
        self.cdi.write_base(list(self.devices.values()))
        self._servers = [
            serve(self._inside(SERVICE), self._claim_service("v1"), self._claim_service("v1beta1")),
            serve(self._inside(REGISTRATION), self._registration_service()),
        ]
        if not self._registered.wait(60):
            raise ClusterError(f"the kubelet of {self._node.name} did not register the Go driver within 60 s")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Killed, not stopped: its sockets stay."""
        for server in self._servers:
            stop(server)
        for socket in (SERVICE, REGISTRATION):
            leave_dead_socket(self._inside(socket))

    def can_prepare(self) -> bool:
        """Whether nobody else holds the lock that it takes for each Prepare."""
        with (self._directory / "pu.lock").open("w", encoding="ascii") as file:
            return _try_lock(file.fileno())

    def publish(self) -> None:
        """All devices in one slice. What others publish or change is put right, again and again, as by its helper library."""
        before = {each["metadata"]["uid"] for each in slices_of(self._running, self._node)}
        wait_for(f"the Go driver's slices are the only ones of {self._node.name}", lambda: self._publish_alone(before), 30)

    def _publish_alone(self, before: set[str]) -> bool:
        if not self._own_slices(before):
            self._create_slice()
        own = self._own_slices(before)
        for each in slices_of(self._running, self._node):
            if each["metadata"]["name"] not in own:
                self._running.kubectl.delete("resourceslice", each["metadata"]["name"])
        time.sleep(2)  # Until then a driver that was here notices us, and the scheduler what is published.
        return len(slices_of(self._running, self._node)) == len(self._own_slices(before)) == 1

    def _own_slices(self, before: set[str]) -> list[str]:
        """Names of those that nobody has changed since they were made."""
        found = (each["metadata"] for each in slices_of(self._running, self._node))
        own = (each for each in found if each["uid"] not in before and each["name"].startswith(self._slice_prefix))
        return [each["name"] for each in own if each["generation"] == 1]

    @property
    def _slice_prefix(self) -> str:
        return f"{self._node.name}-{DRIVER}-"

    def _create_slice(self) -> None:
        kubectl, release = self._running.kubectl, self._running.cluster.release
        flat = release.resource_api.endswith("/v1beta1")
        published = {name: self._published(device) for name, device in self.devices.items()}
        devices: list[Object] = [
            {"name": name, "basic": what} if flat else {"name": name, **what} for name, what in published.items()
        ]
        owner = kubectl.get("node", self._node.name)["metadata"]["uid"]
        made: Object = {
            "apiVersion": release.resource_api,
            "kind": "ResourceSlice",
            "metadata": {
                "generateName": self._slice_prefix,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": self._node.name, "uid": owner, "controller": True}
                ],
            },
            "spec": {
                "driver": DRIVER,
                "nodeName": self._node.name,
                "pool": {"name": self._node.name, "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }
        kubectl.create(made)

    def _published(self, device: GoDevice) -> Object:
        """A MIG device that is made when a claim comes has no UUID. It also shares counters: nobody here looks at them."""
        if device.mig is None or self._extra is not Extra.MIG_ON_DEMAND:
            return device.published
        attributes = {key: value for key, value in device.published["attributes"].items() if key != "uuid"}
        return {**device.published, "attributes": attributes}

    # ---- Claims.

    def _prepare(self, claim: Any) -> list[Object]:
        """The devices, as its helper library calls them, of a claim that the API server knows."""
        with self._mutex, self._lock():
            if claim.uid not in self.claims:
                self._set_up(claim)
            groups = self.claims[claim.uid]["preparedDevices"]
        prepared: list[Object] = [device for group in groups for device in group["devices"]]
        return [found["device"] for each in prepared for found in each.values() if found]

    def _set_up(self, claim: Any) -> None:
        found = self._running.kubectl.in_namespace(claim.namespace).get("resourceclaim", claim.name)
        results = [each for each in found["status"]["allocation"]["devices"]["results"] if each["driver"] == DRIVER]
        devices = []
        for result in results:
            device = self.devices[result["device"]]
            helper_device = {
                "Requests": [result["request"]],
                "PoolName": result["pool"],
                "DeviceName": result["device"],
                "CDIDeviceIDs": self.cdi.ids(claim.uid, device),
            }
            devices.append(record(self.release, device, helper_device, vfio=self._extra is Extra.VFIO))
        self.cdi.write_claim(claim.uid, [self.devices[result["device"]] for result in results])
        states: dict[Extra, Object] = {
            Extra.MPS: {"mpsControlDaemonID": f"{claim.uid}-a1b2c"},
            Extra.TIME_SLICE: {"timeSliceApplied": True},
        }
        self.claims[claim.uid] = {
            "checkpointState": go_checkpoint.COMPLETED,
            "status": found["status"],
            "preparedDevices": [{"devices": devices, "configState": states.get(self._extra, {})}],
        }
        self._write_checkpoint()

    def _unprepare(self, claim: Any) -> None:
        with self._mutex, self._lock():
            if self.claims.pop(claim.uid, None):
                self.cdi.claim_file(claim.uid).unlink(missing_ok=True)
                self._write_checkpoint()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """pu.lock, as the Go driver takes it: it gives up when somebody else holds it for long."""
        with (self._directory / "pu.lock").open("w", encoding="ascii") as file:
            wait_for("pu.lock", lambda: _try_lock(file.fileno()), 10)
            yield

    # ---- The checkpoint.

    def _read_checkpoint(self) -> None:
        file = self._directory / "checkpoint.json"
        if not self._resume or not file.exists():
            return
        claims, boot_id = go_checkpoint.read(self.release, file.read_text("utf-8"))
        if boot_id in ("", self._boot_id()):
            self.claims = claims

    def _write_checkpoint(self) -> None:
        text = go_checkpoint.write(self.release, self.claims, self._boot_id())
        temporary = self._directory / ".checkpoint.json.tmp"
        temporary.write_text(text, encoding="utf-8")
        temporary.rename(self._directory / "checkpoint.json")

    def _boot_id(self) -> str:
        return (self._node.driver_root / "proc/sys/kernel/random/boot_id").read_text("ascii").strip()

    # ---- The kubelet's calls.

    def _claim_service(self, version: str) -> Service:
        types = messages.load(f"dra_{version}")
        methods = {
            "NodePrepareResources": Method("NodePrepareResourcesRequest", lambda asked: self._answer_prepare(types, asked)),
            "NodeUnprepareResources": Method(
                "NodeUnprepareResourcesRequest", lambda asked: self._answer_unprepare(types, asked)
            ),
        }
        return Service(f"k8s.io.kubelet.pkg.apis.dra.{version}.DRAPlugin", types, methods)

    def _answer_prepare(self, types: ModuleType, asked: Any) -> Any:
        response = types.NodePrepareResourcesResponse()
        for claim in asked.claims:
            answer = response.claims[claim.uid]
            try:
                for device in self._prepare(claim):
                    answer.devices.add(
                        request_names=device["Requests"],
                        pool_name=device["PoolName"],
                        device_name=device["DeviceName"],
                        cdi_device_ids=device["CDIDeviceIDs"],
                    )
            except (ClusterError, KeyError, OSError) as error:
                answer.error = repr(error)
        return response

    def _answer_unprepare(self, types: ModuleType, asked: Any) -> Any:
        response = types.NodeUnprepareResourcesResponse()
        for claim in asked.claims:
            answer = response.claims[claim.uid]
            try:
                self._unprepare(claim)
            except (ClusterError, OSError) as error:
                answer.error = repr(error)
        return response

    def _registration_service(self) -> Service:
        types = messages.load("plugin_registration")

        def info(_: Any) -> Any:
            versions = ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
            return types.PluginInfo(type="DRAPlugin", name=DRIVER, endpoint=str(SERVICE), supported_versions=versions)

        def notice(status: Any) -> Any:
            if status.plugin_registered:
                self._registered.set()
            return types.RegistrationStatusResponse()

        methods = {
            "GetInfo": Method("InfoRequest", info),
            "NotifyRegistrationStatus": Method("RegistrationStatus", notice),
        }
        return Service("pluginregistration.Registration", types, methods)

    def _inside(self, path: Path) -> Path:
        return self._root / path.relative_to("/")


def slices_of(running: Running, node: Node) -> list[Object]:
    """Whoever made them."""
    wanted = (DRIVER, node.name)
    slices = running.kubectl.items("resourceslices")
    return [each for each in slices if (each["spec"]["driver"], each["spec"].get("nodeName")) == wanted]


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
