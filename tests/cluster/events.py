"""What was said about an object: Kubernetes Events, where a person looks first."""

from __future__ import annotations

from harness.kubectl import Kubectl


def said_about(kubectl: Kubectl, reason: str, name: str) -> list[str]:
    """Messages of Events with this reason about an object of kubectl's namespace, or about a node, the oldest first."""
    events = [each for each in kubectl.items("events") if each["reason"] == reason]
    return [each["message"] for each in events if each["involvedObject"]["name"] == name]
