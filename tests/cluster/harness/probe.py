"""Whether somebody listens: what services wait for before they start."""

from __future__ import annotations

import socket
import ssl
import urllib.request
from collections.abc import Callable
from pathlib import Path


def tcp(address: str, port: int) -> Callable[[], bool]:
    def probe() -> bool:
        try:
            with socket.create_connection((address, port), timeout=1):
                return True
        except OSError:
            return False

    return probe


def https(url: str, ca: Path) -> Callable[[], bool]:
    """Answers 200 to anybody."""

    def probe() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2, context=ssl.create_default_context(cafile=str(ca))) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    return probe


def unix(path: Path) -> Callable[[], bool]:
    def probe() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            try:
                client.connect(str(path))
            except OSError:
                return False
        return True

    return probe
