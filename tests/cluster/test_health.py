"""A GPU falls ill and gets well again: what its pods, its claim, the slices, Events and metrics say of it.

Recovery is waited for: the nodes' health policy has short times, see harness/driver.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import yaml

from gpu_view import look
from harness import driver
from harness.kubectl import Kubectl, Object, as_yaml
from harness.lifecycle import Running
from harness.node import Node
from harness.waiting import wait_for
from manifests import claim, claim_spec, claim_template, pod
from patients import Illness, Patient, admit, taints_are_kept, taints_on
from simulator import simulated

pytestmark = pytest.mark.long
PLUGIN = "/usr/bin/tessera-kubelet-plugin"
# The Xid first, as from a real one: of two reasons the older is named, and a look between them would find the loss.
LOST = Illness("Xid79", "xid", strike=(("xid", "--code=79"), ("lose",)), heal=(("find",),))
NVLINK = Illness("NvlinkDown", "nvlink", strike=(("nvlink", "down", "--link=2"),), heal=(("nvlink", "up", "--link=2"),))
ILLNESSES = [
    LOST,
    Illness("EccUncorrected", "ecc", strike=(("ecc", "--uncorrected=1"),), heal=(("reset",),)),
    Illness("RowRemapPending", "row-remap", strike=(("remap", "--uncorrected=1", "--pending"),), heal=(("reset",),), usable=True),
    NVLINK,
    Illness("ThermalSlowdown", "thermal", strike=(("slowdown", "thermal"),), heal=(("slowdown", "none"),), usable=True),
    Illness("Verdict", "verdict", verdict="{{device: {uuid}, state: unusable, reason: diagnosis failed}}"),
]


@pytest.fixture
def patient(installed: Running, namespace: Kubectl) -> Patient:
    """One GPU that two pods share through one claim."""
    return admit(installed, namespace, installed.nodes[0], claim(installed.cluster.release, "shared"))


@pytest.fixture(autouse=True)
def no_verdicts(installed: Running) -> Iterator[None]:
    """None is left to the next test."""
    yield
    for node in installed.nodes:
        node.run("find", driver.VERDICTS, "-name", "*.yaml", "-delete")


@pytest.mark.parametrize("illness", ILLNESSES, ids=lambda illness: illness.code)
def test_a_sick_gpu_is_told_to_everybody_and_left_alone_until_it_is_well(patient: Patient, illness: Illness) -> None:
    with patient.suffers(illness):
        patient.wait_until_everybody_knows(illness)
        if not illness.usable:
            wanted = claim(patient.running.cluster.release, "next")
            patient.namespace.apply([wanted, pod("next", node=patient.node.name, claims={"gpu": "next"})])
            patient.namespace.wait_for_pod("next")
            assert patient.uuid not in look(patient.namespace, "next").products
    patient.wait_until_well()


def restart_kubelet(patient: Patient) -> None:
    patient.node.kubelet.restart()


def kill_plugin(patient: Patient) -> None:
    patient.node.run("pkill", "-KILL", "-f", f"^{PLUGIN}")


def upgrade_plugin(patient: Patient) -> None:
    given = yaml.safe_load(driver.current_values(patient.running))
    given["kubeletPlugin"]["podAnnotations"] = {"tessera.test/health": patient.namespace.namespace}
    driver.upgrade(patient.running, yaml.safe_dump(given))


def stop_api_server(patient: Patient) -> None:
    server = patient.running.service("kube-apiserver")
    server.stop()
    time.sleep(20)  # Longer than the plugin's first tries.
    server.start()
    patient.running.wait_until_ready()


@pytest.mark.parametrize("disturb", [restart_kubelet, kill_plugin, upgrade_plugin, stop_api_server])
def test_what_is_known_of_a_sick_gpu_outlives(patient: Patient, disturb: Callable[[Patient], None]) -> None:
    with patient.suffers(LOST):
        wait_for("the device is avoided", lambda: patient.is_avoided(LOST))
        disturb(patient)
        patient.wait_until_everybody_knows(LOST)
    patient.wait_until_well()


def test_monitoring_sees_every_gpu_while_one_is_sick(patient: Patient) -> None:
    """docs/health.md: a claim for all devices, with admin access, that tolerates our taints."""
    if not taints_are_kept(patient.running):
        pytest.skip("device taints are on from 1.36")
    release, namespace, node = patient.running.cluster.release, patient.namespace, patient.node.name
    namespace("label", "namespace", namespace.namespace, "resource.kubernetes.io/admin-access=true")
    tolerant = [{"operator": "Exists", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    everything: Object = {"allocationMode": "All", "adminAccess": True}
    with patient.suffers(NVLINK):
        wait_for("the device is avoided", lambda: patient.is_avoided(NVLINK))
        for name, tolerations in (("strict", []), ("monitor", tolerant)):
            wanted = claim(release, name, **everything, tolerations=tolerations)
            wait_for("the label counts", lambda: namespace("apply", "-f", "-", stdin=as_yaml(wanted)), 10)
            namespace.apply(pod(name, node=node, claims={"gpu": name}))
        namespace.wait_for_pod("monitor")
        seen = look(namespace, "monitor").products
        assert len(seen) == len(simulated(patient.node)["gpus"]) and patient.uuid in seen
        assert namespace.get("pod", "strict")["status"]["phase"] == "Pending"
    patient.wait_until_well()


def test_a_fault_of_one_mig_instance_is_not_one_of_its_neighbours(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[1]
    patient = admit(installed, namespace, node, claim(installed.cluster.release, "part", device_class="mig.nvidia.com"))
    gpu, instance = instance_of(node, patient.uuid)
    fault = Illness("Xid95", "xid", strike=(("xid", "--code=95", f"--gi={instance['id']}"),), repaired=True)
    with patient.suffers(fault, gpu["uuid"]):
        patient.wait_until_everybody_knows(fault)
        others = {name: taints for name, taints in taints_on(installed, node).items() if name != patient.name}
        assert len(others) > 1 and not any(others.values())
    patient.wait_until_well()


def instance_of(node: Node, uuid: str) -> tuple[Object, Object]:
    """The GPU and the GPU instance of a MIG device, as the simulator has them."""
    for gpu in simulated(node)["gpus"]:
        for instance in gpu.get("instances", []):
            if any(part["uuid"] == uuid for part in instance["compute"]):
                return gpu, instance
    raise AssertionError(f"no GPU of {node.name} has {uuid}")


def test_a_job_whose_gpu_fails_when_it_is_prepared_completes_on_another(installed: Running, namespace: Kubectl) -> None:
    """The policy evicts from devices that cannot be prepared, so the Job's controller makes another pod."""
    if not taints_are_kept(installed):
        pytest.skip("device taints are on from 1.36")
    node, release = installed.nodes[0], installed.cluster.release
    first, *_ = (gpu for gpu in simulated(node)["gpus"] if gpu["minor"] == 0)
    template = claim_template(release, "each")
    worker = pod("worker", command=["nvidia-smi", "-L"], node=node.name, templates={"gpu": "each"})
    job = {"template": {"spec": worker["spec"]}, "backoffLimit": 6}
    hidden = node.driver_root / "dev" / "nvidia0.hidden"
    (node.driver_root / "dev" / "nvidia0").rename(hidden)
    try:
        namespace.apply([template, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": job}])
        namespace.wait_until(("job", "work"), lambda found: found.get("status", {}).get("succeeded") == 1, "the Job", 240)
    finally:
        hidden.rename(node.driver_root / "dev" / "nvidia0")
    done, *_ = (each for each in namespace.items("pods") if each["status"]["phase"] == "Succeeded")
    assert first["uuid"] not in namespace.logs(done["metadata"]["name"])
    wait_for("the GPU is well again", lambda: not any(taints_on(installed, node).values()), 90)  # Others judge by taints.


def test_a_bad_config_fails_with_every_fault_listed_and_no_taint(installed: Running, namespace: Kubectl) -> None:
    node, release = installed.nodes[0], installed.cluster.release
    config = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "shareing": {}, "sharing": {"strategy": "Mps"}}
    spec = claim_spec(release)
    spec["devices"]["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": config}}]
    wanted = {**claim(release, "wrong"), "spec": spec}
    namespace.apply([wanted, pod("wrong", node=node.name, claims={"gpu": "wrong"})])
    event = wait_for("an Event", lambda: [each for each in namespace.items("events") if each["reason"] == "BadDeviceConfig"])
    for fault in ("shareing: unknown field", 'strategy: "Mps" is not a valid value'):
        assert fault in event[0]["message"]
    assert not any(taints_on(installed, node).values())

