"""gRPC on a Unix socket of a node, served from the test's own process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc

_THREADS = 8


@dataclass(frozen=True)
class Method:
    """A call of one message, answered by one message or by a stream of them."""

    request: str
    answer: Callable[[Any], Any] | Callable[[Any], Iterator[Any]]
    streams: bool = False


@dataclass(frozen=True)
class Service:
    name: str  # "pluginregistration.Registration"
    messages: ModuleType
    methods: dict[str, Method]


def serve(path: Path, *services: Service) -> grpc.Server:
    """Serves until stop(). Whatever stood at `path` is replaced."""
    server = grpc.server(ThreadPoolExecutor(_THREADS))
    for service in services:
        handlers = {name: _handler(service.messages, method) for name, method in service.methods.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.name, handlers),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


def stop(server: grpc.Server) -> None:
    """Calls end, and the socket is gone."""
    server.stop(grace=None).wait()


def leave_dead_socket(path: Path) -> None:
    """As a process that was killed leaves it: there, and nobody listens."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def call(path: Path, method: str, request: Any) -> None:
    """A call whose answer is empty."""
    with grpc.insecure_channel(f"unix:{path}") as channel:
        channel.unary_unary(method, request_serializer=_serialize, response_deserializer=bytes)(request, timeout=10)


def _handler(messages: ModuleType, method: Method) -> grpc.RpcMethodHandler:
    make = grpc.unary_stream_rpc_method_handler if method.streams else grpc.unary_unary_rpc_method_handler
    return make(
        lambda request, _: method.answer(request),
        request_deserializer=getattr(messages, method.request).FromString,
        response_serializer=_serialize,
    )


def _serialize(message: Any) -> bytes:
    encoded: bytes = message.SerializeToString()
    return encoded
