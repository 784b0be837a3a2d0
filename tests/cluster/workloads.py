"""Pods with a GPU, and how they come through: what several tests start and look at."""

from __future__ import annotations

from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, pod


def start_with_gpu(installed: Running, namespace: Kubectl, node: Node, name: str) -> None:
    """Pod `name` with a claim of the same name; returns when it runs."""
    made = pod(name, node=node.name, claims={"gpu": name}, restartPolicy="Always")
    namespace.apply([claim(installed.cluster.release, name), made])
    namespace.wait_for_pod(name, timeout=180)  # A kubelet whose Prepare failed tries again after 60 to 90 s.


def container_of(namespace: Kubectl, name: str) -> str:
    """The id of the pod's container, once that is ready."""
    (status,) = namespace.wait_for_pod(name)["status"]["containerStatuses"]
    return str(status["containerID"])


def restart_containers(namespace: Kubectl, node: Node, *names: str) -> None:
    """Their processes are killed, and the kubelet makes other containers, with the CDI ids that it remembers."""
    before = {name: container_of(namespace, name) for name in names}
    for container in before.values():
        node.kill_container(container)
    for name in names:
        wait_for(f"{name} has another container", lambda: container_of(namespace, name) != before[name])
