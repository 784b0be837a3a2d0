"""NVIDIA's device plugin on one node, as far as the kubelet tells others about it: pods hold GPUs through it, by UUID."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from harness.kubectl import Object
from harness.lifecycle import Running
from harness.node import Node
from neighbours import messages
from neighbours.grpc_socket import Method, Service, call, serve, stop

RESOURCE = "nvidia.com/gpu"
_DIRECTORY = Path("/var/lib/kubelet/device-plugins")
_SOCKET = "nvidia-gpu.sock"


class DevicePlugin:
    """Offers these GPUs while its `with` lasts. A container that gets one sees nothing of it: nobody looks."""

    def __init__(self, running: Running, node: Node, uuids: Sequence[str]) -> None:
        self._running, self._node, self._uuids = running, node, uuids
        self._directory = node.root / _DIRECTORY.relative_to("/")
        self._types = messages.load("device_plugin")
        self._ended = threading.Event()
        self._server: grpc.Server | None = None

    def __enter__(self) -> DevicePlugin:
        methods = {
            "GetDevicePluginOptions": Method("Empty", lambda _: self._types.DevicePluginOptions()),
            "ListAndWatch": Method("Empty", self._list, streams=True),
            "Allocate": Method("AllocateRequest", self._allocate),
        }
        self._server = serve(self._directory / _SOCKET, Service("v1beta1.DevicePlugin", self._types, methods))
        request = self._types.RegisterRequest(version="v1beta1", endpoint=_SOCKET, resource_name=RESOURCE)
        call(self._directory / "kubelet.sock", "/v1beta1.Registration/Register", request)
        self._running.kubectl.wait_until(("node", self._node.name), self._is_offered, f"{RESOURCE} on the node")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._server:
            stop(self._server)

    def _is_offered(self, node: Object) -> bool:
        return bool(node["status"]["allocatable"].get(RESOURCE) == str(len(self._uuids)))

    def _list(self, _: Any) -> Iterator[Any]:
        devices = [self._types.Device(id=uuid, health="Healthy") for uuid in self._uuids]
        yield self._types.ListAndWatchResponse(devices=devices)
        self._ended.wait()

    def _allocate(self, asked: Any) -> Any:
        answers = [self._types.ContainerAllocateResponse() for _ in asked.container_requests]
        return self._types.AllocateResponse(container_responses=answers)
