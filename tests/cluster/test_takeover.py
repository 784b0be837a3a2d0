"""After the Go driver, and before it: Tessera comes to a node as each of its releases leaves it, and goes again.

Pods are prepared by a stand-in of the Go driver that the real kubelet calls, so what the kubelet remembers is what that
release told it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from events import said_about
from gpu_view import View, devices_on, look
from harness import driver
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, pod
from neighbours import go_releases
from neighbours.go_driver import DRIVER, PLUGIN, REGISTRATION, Extra, GoDriver, slices_of
from neighbours.go_releases import HEAD, RELEASES, GoRelease
from plugin_http import metrics_of, serves
from workloads import container_of, restart_containers, start_with_gpu

pytestmark = pytest.mark.long
PROMISED = 5  # Seconds from the other driver's end.
LOOKING = 10  # To find out through kubectl, on cores that two more clusters keep busy.
UNSERVED = {  # And in which words it is refused.
    Extra.MPS: 'MPS control daemon "{uid}-a1b2c"',
    Extra.TIME_SLICE: 'time-slicing with interval "Short"',
    Extra.VFIO: 'VFIO device "{device}"',
    Extra.MIG_ON_DEMAND: 'MIG device "{device}", made on demand',
}
TIME_SLICE = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "GpuConfig",
    "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}},
}


@pytest.fixture
def node(installed: Running) -> Node:
    """One that has GPUs with and without MIG."""
    return next(node for node in installed.nodes if node.spec.profile == "dgx-a100-mig")


def start(
    running: Running, namespace: Kubectl, node: Node, kinds: Sequence[str] = ("gpu", "mig"), config: Object | None = None
) -> dict[str, View]:
    """A pod with a device for each kind, named after it; what its container sees. `config`: of the claims, for the driver."""
    for kind in kinds:
        wanted = claim(running.cluster.release, kind, device_class=f"{kind}.nvidia.com")
        if config:
            wanted["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": config}}]
        namespace.apply([wanted, pod(kind, node=node.name, claims={"gpu": kind}, restartPolicy="Always")])
    return see(namespace, kinds)


def see(namespace: Kubectl, kinds: Sequence[str]) -> dict[str, View]:
    for kind in kinds:
        namespace.wait_for_pod(kind)
    return {kind: look(namespace, kind) for kind in kinds}


def containers_of(namespace: Kubectl, names: Sequence[str]) -> dict[str, str]:
    return {name: container_of(namespace, name) for name in names}


def uid_of(namespace: Kubectl, claim_name: str) -> str:
    return str(namespace.get("resourceclaim", claim_name)["metadata"]["uid"])


def slice_uids(running: Running, node: Node) -> set[str]:
    return {each["metadata"]["uid"] for each in slices_of(running, node)}


def slices_outlive_their_driver(running: Running) -> bool:
    """For half a minute. Older kubelets delete them as soon as it is gone."""
    return running.cluster.release.at_least("1.33")


def names_on(running: Running, node: Node) -> set[str]:
    return {device["name"] for device in devices_on(running, node.name)}


def plugin_directory(node: Node) -> Path:
    return node.root / PLUGIN.relative_to("/")


def forget_tessera(node: Node) -> None:
    """A node on which it never was."""
    for directory in (plugin_directory(node), node.root / "run/cdi"):
        shutil.rmtree(directory)


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_node_is_taken_over_and_given_back(
    installed: Running, namespace: Kubectl, node: Node, release: GoRelease
) -> None:
    with driver.absent(installed):
        forget_tessera(node)
        with GoDriver(installed, node, release) as go:
            go.publish()
            slices = slice_uids(installed, node)
            seen = start(installed, namespace, node)
            containers = containers_of(namespace, list(seen))
            claims = {name: uid_of(namespace, name) for name in seen}

    # Taken over: nobody noticed, and what was published under another name is not offered twice.
    assert containers_of(namespace, list(seen)) == containers
    if slices_outlive_their_driver(installed):
        assert slice_uids(installed, node) == slices
    held = next(device for device in go.devices.values() if device.mig and device.mig["uuid"] in seen["mig"].mig)
    offered = wait_for("devices are offered", lambda: names_on(installed, node))
    assert (held.new_name in offered) == release.profile_in_names
    restart_containers(namespace, node, *seen)
    assert see(namespace, list(seen)) == seen

    namespace.delete("pod", "gpu")
    assert not go.cdi.claim_file(claims["gpu"]).exists()
    start_with_gpu(installed, namespace, node, "own")
    own = uid_of(namespace, "own")
    assert metrics_of(installed, node)["tessera_journal_claims"] == 2

    # Given back: the release reads what Tessera left, and undoes the claim that it once prepared and the one it did not.
    with driver.absent(installed), GoDriver(installed, node, release) as back:
        assert set(back.claims) == {claims["mig"], own}
        for name in ("mig", "own"):
            namespace.delete("pod", name)
        assert not back.claims
    for uid in (claims["mig"], own):
        assert not back.cdi.claim_file(uid).exists()
    assert metrics_of(installed, node)["tessera_journal_claims"] == 0
    wait_for(f"{held.new_name} is offered", lambda: held.new_name in names_on(installed, node))


@pytest.fixture
def compute_domains(installed: Running, node: Node) -> Iterator[Callable[[], object]]:
    """What the Go driver's other plugin has on the node, under a driver name of its own; looks at it."""
    name = "compute-domain.nvidia.com"
    pool = {"name": node.name, "generation": 1, "resourceSliceCount": 1}
    made: Object = {
        "apiVersion": installed.cluster.release.resource_api,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node.name}-{name}"},
        "spec": {"driver": name, "nodeName": node.name, "pool": pool},
    }
    installed.kubectl.apply(made)
    checkpoint = plugin_directory(node).with_name(name) / "checkpoint.json"
    files = [node.root / "run/cdi" / f"k8s.{name}-claim_0a.yaml", checkpoint]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}", encoding="ascii")

    def look_at_them() -> object:
        texts = [file.read_text("ascii") for file in files]
        return texts, installed.kubectl.get("resourceslice", made["metadata"]["name"])

    yield look_at_them
    installed.kubectl.delete("resourceslice", made["metadata"]["name"])
    for file in files:
        file.unlink()


def test_beside_another_driver_tessera_does_nothing_says_so_and_follows_it(
    installed: Running, namespace: Kubectl, node: Node, compute_domains: Callable[[], object]
) -> None:
    before = compute_domains()
    with GoDriver(installed, node, HEAD, resume=False) as go:
        said = wait_for("an Event", lambda: said_about(installed.kubectl, "AnotherDriver", node.name))
        assert str(REGISTRATION) in said[-1]
        wait_for("Tessera is not ready", lambda: not serves(installed, node))
        go.publish()
        slices = slice_uids(installed, node)
        seen = start(installed, namespace, node)
        assert set(go.claims) == {uid_of(namespace, name) for name in seen}
        assert slice_uids(installed, node) == slices
        assert go.can_prepare()
    wait_for("Tessera serves", lambda: serves(installed, node), PROMISED + LOOKING)
    assert not go.can_prepare()
    assert see(namespace, list(seen)) == seen
    if slices_outlive_their_driver(installed):
        assert slice_uids(installed, node) == slices
    assert compute_domains() == before
    namespace.delete("pods", *seen)
    assert not any(go.cdi.claim_file(uid).exists() for uid in go.claims)


@pytest.mark.parametrize("extra", UNSERVED, ids=lambda extra: extra.value)
def test_a_node_with_a_claim_that_cannot_be_undone_is_left_to_the_go_driver(
    installed: Running, namespace: Kubectl, node: Node, extra: Extra
) -> None:
    if extra is Extra.MIG_ON_DEMAND and not slices_outlive_their_driver(installed):
        pytest.skip("kubelets before 1.33 delete a driver's slices at once")
    kind = "mig" if extra is Extra.MIG_ON_DEMAND else "gpu"
    with GoDriver(installed, node, HEAD, resume=False, extra=extra) as go:
        go.publish()
        seen = start(installed, namespace, node, [kind], TIME_SLICE if extra is Extra.TIME_SLICE else None)
    (uid,) = go.claims
    (result,) = namespace.get("resourceclaim", kind)["status"]["allocation"]["devices"]["results"]
    named = f"UID {uid} ({UNSERVED[extra].format(uid=uid, device=result['device'])})"
    wait_for("an Event", lambda: any(named in said for said in said_about(installed.kubectl, "UnservedClaims", node.name)))
    assert not serves(installed, node)
    assert see(namespace, [kind]) == seen
    with GoDriver(installed, node, HEAD, extra=extra):
        namespace.delete("pod", kind)
    wait_for("Tessera serves", lambda: serves(installed, node))


@pytest.mark.parametrize("release", ["v25.8.1", "v0.4.1"])
def test_claims_of_the_go_driver_outlive_the_loss_of_its_files(
    installed: Running, namespace: Kubectl, node: Node, release: str
) -> None:
    """Its checkpoint before we could read it, then everything in the CDI directory."""
    if not installed.cluster.release.at_least("1.34"):
        pytest.skip("kubelets before 1.34 do not tell which pods have which claims")
    with GoDriver(installed, node, go_releases.find(release), resume=False) as go:
        go.publish()
        seen = start(installed, namespace, node)
        (plugin_directory(node) / "checkpoint.json").unlink()
    wait_for("Tessera serves", lambda: serves(installed, node))
    wait_for("the claims are known", lambda: metrics_of(installed, node)["tessera_journal_claims"] == 2)
    for file in (node.root / "run/cdi").iterdir():
        file.unlink()
    wait_for("files are there again", lambda: all(go.cdi.claim_file(uid).exists() for uid in go.claims))
    restart_containers(namespace, node, *seen)
    for name, view in see(namespace, list(seen)).items():
        assert (view.products, view.mig, view.nodes) == (seen[name].products, seen[name].mig, seen[name].nodes)
    namespace.delete("pods", *seen)
    assert not any(go.cdi.claim_file(uid).exists() for uid in go.claims)
