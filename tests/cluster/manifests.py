"""Objects that several tests need, as Python values: a test says only what matters to it."""

from __future__ import annotations

from typing import Any

from harness.image import TEST_IMAGE
from harness.kubectl import Object

FOREVER = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"]


def pod(name: str, *, command: list[str] | None = None, node: str | None = None, **spec: Any) -> Object:
    """A pod with one container, `main`, that runs until it is told to stop."""
    container = {"name": "main", "image": TEST_IMAGE, "command": command or FOREVER}
    chosen = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "restartPolicy": "Never", **chosen, **spec},
    }
