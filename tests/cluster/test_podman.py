"""Debian's podman as a second runtime: the CDI files of a prepared claim serve it as they serve containerd."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from gpu_view import allocated, look, view_of
from harness import cgroups, gpus
from harness.errors import ClusterError
from harness.image import userland
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.node import Node
from manifests import claim, pod

# Its own files are on the node's disk. crun refuses machines that have both versions of cgroups; runc takes all.
PODMAN = (
    "podman",
    "--root=/var/lib/podman",
    "--runroot=/run/podman",
    "--storage-driver=vfs",
    "--cgroup-manager=cgroupfs",
    "--runtime=runc",
)
DRIVER = "k8s.gpu.nvidia.com/base=driver"
Ask = Callable[..., str]


@pytest.fixture
def container(installed: Running, namespace: Kubectl) -> Iterator[Callable[[Node, list[str]], Ask]]:
    """container(node, ids) gives a function that runs a command in a new container with these CDI devices."""
    folder = f"var/tmp/{namespace.namespace}"
    homes = [installed.cluster.node_dir(node.spec) / folder for node in installed.nodes]
    for home in homes:
        home.parent.mkdir(exist_ok=True)
        shutil.copytree(userland(installed.cluster.dir / "images"), home, symlinks=True)

    def start(node: Node, ids: list[str]) -> Ask:
        devices = [f"--device={each}" for each in ids]
        state = f"--volume={gpus.DRIVER_ROOT / gpus.STATE}:/{gpus.STATE}:ro"  # As containerd's base spec has it.
        group = f"--cgroup-parent={cgroups.node_root(installed.cluster, node.spec)}/podman"
        run = [*PODMAN, "run", "--rm", "--network=none", group, state, *devices, "--rootfs", f"/{folder}"]
        return lambda *command: node.run(*run, *command)

    yield start
    for home in homes:
        shutil.rmtree(home)


@pytest.mark.parametrize(
    ("number", "device_class"),
    [pytest.param(0, "gpu.nvidia.com", id="GPU"), pytest.param(1, "mig.nvidia.com", id="MIG device")],
)
def test_a_container_of_podman_sees_the_claims_device_and_no_other(
    installed: Running,
    namespace: Kubectl,
    container: Callable[[Node, list[str]], Ask],
    number: int,
    device_class: str,
) -> None:
    node = installed.nodes[number]
    namespace.apply(claim(installed.cluster.release, "wanted", device_class=device_class))
    namespace.apply(pod("holder", node=node.name, claims={"gpu": "wanted"}))
    namespace.wait_for_pod("holder")
    made = namespace.get("resourceclaim", "wanted")
    ((name, attributes),) = allocated(installed, made).items()
    ask = container(node, [f"k8s.gpu.nvidia.com/claim={made['metadata']['uid']}-{name}", DRIVER])

    seen, in_pod = view_of(ask), look(namespace, "holder")
    assert set(seen.mig or seen.products) == {attributes["uuid"]["string"]}
    assert (seen.products, seen.mig, seen.nodes, seen.controls) == (
        in_pod.products,
        in_pod.mig,
        in_pod.nodes,
        in_pod.controls,
    )
    assert seen.environment["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_hooks_run_under_podman(installed: Running, container: Callable[[Node, list[str]], Ask]) -> None:
    """CDI mounts libraries under their full names; the links that programs load, and the loader's cache, are hooks' work."""
    ask = container(installed.nodes[0], [DRIVER])
    (link,) = ask("sh", "-c", "echo /usr/lib/*-linux-gnu/libnvidia-ml.so.1").split()
    library = ask("readlink", "-f", link).strip()
    assert library != link and library.startswith(link.removesuffix("1"))
    assert link in ask("strings", "/etc/ld.so.cache").split()


def test_podman_does_not_know_the_device_of_a_claim_that_is_not_prepared(
    installed: Running, container: Callable[[Node, list[str]], Ask]
) -> None:
    nobodys = "k8s.gpu.nvidia.com/claim=00000000-0000-4000-8000-000000000000-gpu-0"
    with pytest.raises(ClusterError, match="unresolvable CDI devices"):
        container(installed.nodes[0], [nobodys, DRIVER])("true")
