"""Bringing a cluster up and taking it down.

up():   settings → certificates → cgroups → disks and simulated GPUs → the cluster's init in namespaces of its own
        (cluster_init.py), which starts the control plane and the nodes (node_init.py) → wait until both are ready.
down(): kill that init → remove the cgroups → remove the folder but for its logs → look for anything left.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import audit, cgroups, control, gpus, image, inotify, leftovers, node_disk, pki, processes, programs
from harness.errors import ClusterError
from harness.kubectl import Kubectl, condition
from harness.layout import Cluster, NodeSpec, load
from harness.node import Node, Service
from harness.releases import Release
from harness.waiting import wait_for

HARNESS = Path(__file__).parent
_KEPT = ("log", "failures")  # By down().
# The API server reads logs and runs commands through kubelets as this user; a real cluster's installer binds it too.
_KUBELET_CLIENT = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "kube-apiserver-kubelet-client"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
    "subjects": [{"kind": "User", "name": "kube-apiserver-kubelet-client", "apiGroup": "rbac.authorization.k8s.io"}],
}


@dataclass(frozen=True)
class Running:
    """A cluster that is up."""

    cluster: Cluster

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.cluster.kubernetes / "kubectl", self.cluster.kubeconfig)

    @property
    def nodes(self) -> list[Node]:
        return [Node(self.cluster, spec) for spec in self.cluster.nodes]

    def service(self, name: str) -> Service:
        """Of the control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler."""
        return Service(self.cluster.dir, name)

    def wait_until_ready(self, timeout: float = 90) -> None:
        """The API server answers and all nodes are Ready."""
        wait_for("all nodes Ready", self._all_nodes_ready, timeout)

    def _all_nodes_ready(self) -> bool:
        ready = {node["metadata"]["name"] for node in self.kubectl.items("nodes") if condition(node, "Ready")}
        return ready >= {node.name for node in self.nodes}


def attach(directory: Path) -> Running:
    """A cluster that somebody else brought up."""
    cluster = load(directory)
    if processes.find_init(directory) is None:
        raise ClusterError(f"the cluster in {directory} does not run; make cluster brings one up")
    return Running(cluster)


def up(directory: Path, release: Release, profiles: Sequence[str], simulator: Path, *, bound: bool) -> Running:
    """Replaces what an earlier cluster left in `directory`. `bound`: the cluster dies with the calling process."""
    require_root()
    if processes.find_init(directory) is not None:
        raise ClusterError(f"a cluster is up in {directory}; make cluster-down ends it")
    built = {"kubernetes": programs.ensure(programs.kubernetes(release)), "runtime": programs.ensure(programs.RUNTIME)}
    inotify.require(len(profiles))
    clear(directory)
    nodes = tuple(NodeSpec(number, profile) for number, profile in enumerate(profiles, start=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cluster = Cluster(directory, release.version, nodes, built, listener.getsockname()[1])
        _prepare(cluster, simulator)
        launch(cluster, [listener.fileno()], bound=bound)
    running = Running(cluster)
    try:
        _finish(running)
    except ClusterError as error:
        told = f"{error}\n{_troubled(running)}logs: {cluster.log}"
        raise ClusterError(told) from error
    return running


def require_root() -> None:
    if os.geteuid() != 0:
        raise ClusterError("a cluster needs root: namespaces, mounts, device nodes")


def clear(directory: Path) -> None:
    """An empty folder, whatever an earlier cluster left in it."""
    down(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name in _KEPT:
        shutil.rmtree(directory / name, ignore_errors=True)


def down(directory: Path) -> None:
    """Ends the cluster in `directory`, whatever state it is in. Fails when anything is left."""
    _refuse_foreign(directory)
    seen = leftovers.look_at(directory)
    processes.kill_all(directory)
    cgroups.remove(directory)
    _remove_files(directory)
    if found := leftovers.find(directory, seen):
        raise ClusterError("the cluster has left:\n  " + "\n  ".join(found))


def _prepare(cluster: Cluster, simulator: Path) -> None:
    cluster.save()  # First: it is what tells a cluster's folder from others.
    cluster.log.mkdir()
    pki.make(cluster)
    audit.write_policy(cluster)
    cgroups.make(cluster)
    for node in cluster.nodes:
        node_disk.make(cluster, node)
        gpus.make(cluster, node, simulator)


def launch(cluster: Cluster, listeners: Sequence[int], *, bound: bool) -> None:
    """Starts the cluster's init in namespaces of its own. --kill-child: it dies with `unshare`, everything with it."""
    bind = ["setpriv", "--pdeathsig", "KILL"] if bound else []
    boxed = ["unshare", "--pid", "--mount", "--net", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
    init = [sys.executable, "-m", "harness.cluster_init", str(cluster.dir), *map(str, listeners)]
    env = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(HARNESS.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        processes.CLUSTER_VARIABLE: cluster.id,
    }
    with (cluster.log / "init.log").open("wb") as log:
        subprocess.Popen(
            [*bind, *boxed, *init],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=listeners,
        )


def _finish(running: Running) -> None:
    """Images, then the objects that an installer would make, then readiness."""
    folder = running.cluster.dir / "images"
    folder.mkdir()
    archives = image.make_test_images(folder, running.nodes[0].driver_root / "usr/bin/nvidia-smi")
    for node in running.nodes:
        node.wait_for_containerd()
        for archive in archives:
            node.import_image(archive)
    wait_for("the API server", lambda: "ok" in running.kubectl("get", "--raw", "/readyz"), 90)
    running.kubectl.apply(_KUBELET_CLIENT)
    running.wait_until_ready()


def _troubled(running: Running) -> str:
    """Services that ended by themselves, each with the end of its log."""
    told = ""
    homes = [running.cluster.dir, *(running.cluster.node_dir(spec) for spec in running.cluster.nodes)]
    for home in homes:
        try:
            services = control.ask(home, {"do": "status"}, timeout=5)["services"]
        except ClusterError as error:
            told += f"{error}\n"
            continue
        for service in services:
            if service["last_exit"] is not None:
                told += f"{service['name']} ended with {service['last_exit']} ({service['starts']} starts)\n"
    return told


def _refuse_foreign(directory: Path) -> None:
    """What is not a cluster's folder is not ours to empty."""
    names = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    if "cluster.json" not in names and not names <= set(_KEPT):
        raise ClusterError(f"{directory} holds something else than a cluster; name another folder")


def _remove_files(directory: Path) -> None:
    """Only after the processes: their mounts were private, so what is here is what is on the disk."""
    if not directory.exists():
        return
    for entry in directory.iterdir():
        if entry.name in _KEPT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
