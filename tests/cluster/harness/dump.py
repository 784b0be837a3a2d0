"""What a person needs to understand a failed test, in one folder: objects, events, all logs, node state."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import driver
from harness.errors import ClusterError
from harness.lifecycle import Running
from harness.node import Node

_KINDS = (
    "namespaces,nodes,pods,events,daemonsets,deployments,statefulsets,replicasets,jobs,configmaps,services,endpointslices,"
    "resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses,clusterroles,clusterrolebindings"
)
# The files directly in some places, as far as they are there, without programs.
_SHOW = 'find "$@" -maxdepth 1 -type f ! -perm /111 -exec head -v -n 1000 {} + 2>&1; true'
_NODE_COMMANDS = {
    "processes.txt": ("ps", "axf", "-o", "pid,ppid,lstart,args"),
    "mounts.txt": ("cat", "/proc/self/mountinfo"),
    "network.txt": ("ip", "addr"),
    "cdi.txt": ("sh", "-c", _SHOW, "sh", "/etc/cdi", "/var/run/cdi"),
    "plugin-files.txt": ("sh", "-c", "ls -lR /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry"),
    "plugin-state.txt": ("sh", "-c", _SHOW, "sh", "/var/lib/kubelet/plugins/gpu.nvidia.com", "/var/lib/kubelet/dra_manager_state"),
    "containers.txt": ("ctr", "--namespace=k8s.io", "containers", "list"),
}


def collect(running: Running, folder: Path) -> None:
    """Never fails: what cannot be had is a file that says why."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kubectl = running.kubectl
    _save(folder / "objects.yaml", lambda: kubectl("get", "--all-namespaces", "-o", "yaml", _KINDS))
    _save(folder / "objects.txt", lambda: kubectl("get", "--all-namespaces", "-o", "wide", _KINDS))
    by_time = "--sort-by=.metadata.creationTimestamp"
    _save(folder / "events.txt", lambda: kubectl("get", "events", "--all-namespaces", by_time))
    _save(folder / "pods.txt", lambda: kubectl("describe", "pods", "--all-namespaces"))
    _save(folder / "values.yaml", lambda: driver.current_values(running))
    _copy(running.cluster.log, folder / "log")
    for node in running.nodes:
        _collect_node(running, node, folder / node.name)


def _collect_node(running: Running, node: Node, folder: Path) -> None:
    folder.mkdir()
    pods = running.cluster.node_dir(node.spec) / "var/log/pods"
    _copy(pods, folder / "pods")  # Every container's output, also of those that are gone.
    for name, command in _NODE_COMMANDS.items():
        _save(folder / name, partial(node.run, *command))


def _save(file: Path, produce: Callable[[], str]) -> None:
    try:
        text = produce()
    except ClusterError as error:
        text = f"could not be had: {error}\n"
    file.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    """Logs are written to while they are copied, and pods come and go."""
    try:
        shutil.copytree(source, target, symlinks=True, ignore_dangling_symlinks=True)
    except (OSError, shutil.Error) as error:
        target.mkdir(parents=True, exist_ok=True)
        (target / "incomplete.txt").write_text(f"{error}\n", encoding="utf-8")
