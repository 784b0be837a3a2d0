"""A pod that is deleted while there is no driver ends within 60 s of its return, whatever was lost meanwhile.

Nobody helps: no file is removed to repair something, no kubelet is restarted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from gpu_view import look
from harness import driver
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from plugin_http import metrics_of
from simulator import simulate
from workloads import start_with_gpu

pytestmark = pytest.mark.long
PROMISED = 60


Loss = Callable[[Kubectl, Node, str], None]  # Given the node and the name of its pod and claim.


def nothing(_: Kubectl, __: Node, ___: str) -> None:
    pass


def journal(_: Kubectl, node: Node, __: str) -> None:
    (plugin_directory(node) / "journal").unlink()


def cdi_files(_: Kubectl, node: Node, __: str) -> None:
    shutil.rmtree(cdi_directory(node))


def journal_and_cdi_files(namespace: Kubectl, node: Node, name: str) -> None:
    journal(namespace, node, name)
    cdi_files(namespace, node, name)


def all_state(_: Kubectl, node: Node, __: str) -> None:
    shutil.rmtree(plugin_directory(node))
    shutil.rmtree(cdi_directory(node))


def claim_object(namespace: Kubectl, _: Node, name: str) -> None:
    """Its finalizer would keep it for as long as a pod uses it."""
    namespace.delete("resourceclaim", name, wait=False)
    namespace("patch", "resourceclaim", name, "--type=merge", '--patch={"metadata":{"finalizers":null}}')


def claim_object_and_journal(namespace: Kubectl, node: Node, name: str) -> None:
    claim_object(namespace, node, name)
    journal(namespace, node, name)


def boot(_: Kubectl, node: Node, __: str) -> None:
    node.power.restart()


# Two at a time, one on each node: most of the time goes into taking the driver away and bringing it back.
LOSSES = (
    (nothing, journal),
    (cdi_files, journal_and_cdi_files),
    (all_state, claim_object),
    (claim_object_and_journal, boot),
)


@pytest.mark.parametrize("lost", LOSSES, ids=lambda lost: " and ".join(each.__name__ for each in lost))
def test_a_pod_deleted_while_the_driver_is_absent_ends_when_it_is_back(
    installed: Running, namespace: Kubectl, lost: Sequence[Loss]
) -> None:
    nodes = installed.nodes[: len(lost)]
    for node in nodes:
        start_with_gpu(installed, namespace, node, node.name)
    with driver.absent(installed):
        for node, lose in zip(nodes, lost, strict=True):
            namespace.delete("pod", node.name, wait=False)
            lose(namespace, node, node.name)
    wait_for("the pods are gone", lambda: not namespace.items("pods"), PROMISED)
    for node in nodes:
        assert not list(cdi_directory(node).glob("*-claim_*"))
        wait_for("nothing is remembered", partial(forgot_all, installed, node))


def forgot_all(installed: Running, node: Node) -> bool:
    return metrics_of(installed, node)["tessera_journal_claims"] == 0


def plugin_directory(node: Node) -> Path:
    return node.root / "var/lib/kubelet/plugins/gpu.nvidia.com"


def cdi_directory(node: Node) -> Path:
    return node.root / "run/cdi"


def test_a_pod_ends_when_the_driver_is_back_and_the_gpus_are_not(installed: Running, namespace: Kubectl) -> None:
    """NVIDIA's driver is unloaded, as in an upgrade of it."""
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "orphan")
    given = driver.current_values(installed)
    driver.uninstall(installed)
    namespace.delete("pod", "orphan", wait=False)
    simulate(node, "driver", "unload")
    try:
        driver.deploy(installed, given)
        wait_for("the pod is gone", lambda: not namespace.items("pods"), PROMISED)
    finally:
        simulate(node, "driver", "reload")
        driver.upgrade(installed, given)


def test_pods_run_on_while_the_driver_is_uninstalled_and_keep_their_gpus_after(
    installed: Running, namespace: Kubectl
) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "before")
    seen = look(namespace, "before")
    with driver.absent(installed):
        assert look(namespace, "before") == seen
    start_with_gpu(installed, namespace, node, "after")
    assert look(namespace, "before") == seen
    assert set(look(namespace, "after").products).isdisjoint(seen.products)
