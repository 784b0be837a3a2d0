"""One question, one answer, as JSON lines over a unix socket: how an init is told to stop or start a service."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import ClusterError

_NAME = "control"
_LONGEST = 65536


def listen(directory: Path) -> socket.socket:
    """A socket in `directory`; a stale one is replaced."""
    (directory / _NAME).unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short_name(directory) as name:
        server.bind(name)
    server.listen(16)
    return server


def ask(directory: Path, question: dict[str, Any], timeout: float = 60) -> dict[str, Any]:
    """Sends one question to the init that listens in `directory`. A refusal is an error."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, _short_name(directory) as name:
        client.settimeout(timeout)
        try:
            client.connect(name)
            send(client, question)
            answer = receive(client)
        except OSError as error:
            raise ClusterError(f"no answer from {directory / _NAME}: {error}; is the cluster up?") from error
    if "error" in answer:
        raise ClusterError(answer["error"])
    return answer


def send(peer: socket.socket, message: dict[str, Any]) -> None:
    peer.sendall(json.dumps(message).encode() + b"\n")


def receive(peer: socket.socket) -> dict[str, Any]:
    with peer.makefile("rb") as file:
        line = file.readline(_LONGEST)
    if not line.endswith(b"\n"):
        raise ConnectionError("the line was cut short")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ConnectionError("not an object")
    return message


@contextmanager
def _short_name(directory: Path) -> Iterator[str]:
    """A socket's path has at most 107 bytes; a tree's may be longer."""
    handle = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{_NAME}"
    finally:
        os.close(handle)
