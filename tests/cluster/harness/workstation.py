"""A machine with docker, nerdctl and simulated GPUs, and without Kubernetes: one node, boxed as those of clusters are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import cgroups, gpus, image, lifecycle, node_disk, processes, programs
from harness.errors import ClusterError, run
from harness.layout import Cluster, NodeSpec
from harness.node import Node
from harness.waiting import wait_for

_RECIPES = (programs.RUNTIME, programs.DOCKER, programs.NERDCTL)


@contextmanager
def running(directory: Path, profile: str, simulator: Path) -> Iterator[Node]:
    """Fails when anything is left afterwards. When the calling process is killed, so is the machine."""
    lifecycle.require_root()
    if processes.find_init(directory) is not None:
        raise ClusterError(f"a machine is up in {directory}; another run of these tests has it")
    built = {recipe.name: programs.ensure(recipe) for recipe in _RECIPES}
    lifecycle.clear(directory)
    spec = NodeSpec(1, profile)
    try:
        yield _boot(Cluster(directory, "no Kubernetes", (spec,), built), spec, simulator)
    finally:
        lifecycle.down(directory)


def wait_for_docker(node: Node) -> None:
    wait_for("docker's daemon", lambda: node.run("docker", "version"))


def _boot(cluster: Cluster, spec: NodeSpec, simulator: Path) -> Node:
    cluster.save()  # First: it is what tells a cluster's folder from others.
    cluster.log.mkdir()
    cgroups.make(cluster)
    node_disk.make_without_kubelet(cluster, spec)
    gpus.make(cluster, spec, simulator)
    lifecycle.launch(cluster, [], bound=True)
    node = Node(cluster, spec)
    _give_images(node)
    return node


def _give_images(node: Node) -> None:
    """To containerd for nerdctl, and to docker, which keeps its own and takes no OCI archives."""
    folder = node.cluster.dir / "images"
    folder.mkdir()
    archives = image.make_test_images(folder, node.driver_root / "usr/bin/nvidia-smi")
    node.wait_for_containerd()
    for archive in archives:
        node.import_image(archive)
    files = folder / "files.tar"
    run(["tar", "--create", f"--file={files}", f"--directory={image.userland(folder)}", "."])
    wait_for_docker(node)
    node.run("docker", "import", str(node.put(files)), image.TEST_IMAGE)
