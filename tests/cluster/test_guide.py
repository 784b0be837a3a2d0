"""The guide's workloads, installed through the chart; each pod is judged by what its container sees."""

from __future__ import annotations

import pytest

from gpu_view import View, allocated, devices_on, look
from harness.kubectl import Kubectl, as_yaml
from harness.lifecycle import Running
from harness.waiting import wait_for
from manifests import claim, claim_template, pod, replicated

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
ATTRIBUTES = "device.attributes['gpu.nvidia.com']"


def run_with(installed: Running, namespace: Kubectl, **wanted: object) -> View:
    """Starts a pod with a claim for this, and looks from inside."""
    namespace.apply([claim(installed.cluster.release, "wanted", **wanted), pod("user", claims={"gpu": "wanted"})])
    namespace.wait_for_pod("user")
    return look(namespace, "user")


def test_a_pod_with_a_claim_for_one_gpu_sees_that_gpu_and_no_other(installed: Running, namespace: Kubectl) -> None:
    view = run_with(installed, namespace)
    ((name, device),) = allocated(installed, namespace.get("resourceclaim", "wanted")).items()
    assert view.products == {device["uuid"]["string"]: device["productName"]["string"]}
    assert view.nodes == {name.replace("gpu-", "nvidia")}
    assert {"nvidiactl", "nvidia-uvm"} <= view.controls
    assert view.environment["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_pod_without_a_claim_sees_no_gpu(installed: Running, namespace: Kubectl) -> None:
    namespace.apply(pod("plain"))
    namespace.wait_for_pod("plain")
    assert namespace.exec("plain", "sh", "-c", "ls /dev | grep -c nvidia || true") == "0\n"


def test_a_claim_for_four_gpus_gives_four_different_ones(installed: Running, namespace: Kubectl) -> None:
    view = run_with(installed, namespace, count=4)
    devices = allocated(installed, namespace.get("resourceclaim", "wanted")).values()
    assert len(view.products) == 4
    assert set(view.products) == {device["uuid"]["string"] for device in devices}
    assert len(view.nodes) == 4


@pytest.mark.parametrize(
    ("expression", "product"),
    [
        pytest.param("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('50Gi')) >= 0", H100, id="memory"),
        pytest.param(f"{ATTRIBUTES}.architecture == 'Ampere'", A100, id="architecture"),
        pytest.param(f"{ATTRIBUTES}.architecture in ['Hopper', 'Blackwell']", H100, id="one of several"),
        pytest.param(f"{ATTRIBUTES}.productName == '{A100}'", A100, id="product"),
        pytest.param(
            f"{ATTRIBUTES}.cudaComputeCapability.isGreaterThan(semver('8.0.0'))", H100, id="compute capability"
        ),
    ],
)
def test_a_selector_decides_which_gpu(installed: Running, namespace: Kubectl, expression: str, product: str) -> None:
    assert list(run_with(installed, namespace, selectors=[expression]).products.values()) == [product]


def test_one_pcie_root_can_be_asked_for_and_one_gpu_left_out(installed: Running, namespace: Kubectl) -> None:
    attributes = devices_on(installed, "node-1")[0]["attributes"]
    root, uuid = attributes["resource.kubernetes.io/pcieRoot"]["string"], attributes["uuid"]["string"]
    here = f"device.attributes['resource.kubernetes.io'].pcieRoot == '{root}'"
    assert list(run_with(installed, namespace, selectors=[here]).products) == [uuid]
    namespace.apply(claim(installed.cluster.release, "other", selectors=[here, f"{ATTRIBUTES}.uuid != '{uuid}'"]))
    namespace.apply(pod("nobody", claims={"gpu": "other"}))
    refused = "cannot allocate all claims"
    namespace.wait_until(("pod", "nobody"), lambda found: refused in str(found["status"]), "it waits")


@pytest.mark.parametrize(
    "expression",
    [
        "device.capacity['memory'].compareTo(quantity('40Gi')) >= 0",
        "device.attributes['resource.kubernetes.io/pcieRoot'] == 'pci0000:00'",
        f"{ATTRIBUTES}.cudaComputeCapability.isGreaterThan(version('8.0.0'))",
    ],
)
def test_what_the_guide_prints_but_does_not_compile_is_refused(
    installed: Running, namespace: Kubectl, expression: str
) -> None:
    refusal = namespace.refusal(claim(installed.cluster.release, "refused", selectors=[expression]))
    assert "compilation failed" in refusal


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_each_replica_has_a_gpu_of_its_own(installed: Running, namespace: Kubectl, kind: str) -> None:
    namespace.apply(claim_template(installed.cluster.release, "each"))
    namespace.apply(replicated(kind, "gpu-app", 3, pod("replica", templates={"gpu": "each"})))
    namespace("rollout", "status", f"{kind.lower()}/gpu-app", "--timeout=120s")
    names = [each["metadata"]["name"] for each in namespace.items("pods", "--selector=app=gpu-app")]
    seen = [uuid for name in names for uuid in look(namespace, name).products]
    assert len(names) == len(seen) == len(set(seen)) == 3


def test_two_gpus_can_be_asked_for_below_one_pcie_root(installed: Running, namespace: Kubectl) -> None:
    view = run_with(installed, namespace, count=2, same="resource.kubernetes.io/pcieRoot")
    devices = allocated(installed, namespace.get("resourceclaim", "wanted")).values()
    assert len(view.products) == 2
    assert len({device["resource.kubernetes.io/pcieRoot"]["string"] for device in devices}) == 1


def test_a_mig_device_can_be_asked_for_by_its_profile(installed: Running, namespace: Kubectl) -> None:
    view = run_with(
        installed, namespace, device_class="mig.nvidia.com", selectors=[f"{ATTRIBUTES}.migProfile == '3g.20gb'"]
    )
    ((_, device),) = allocated(installed, namespace.get("resourceclaim", "wanted")).items()
    assert view.mig == {device["uuid"]["string"]: "3g.20gb"}
    assert list(view.products) == [device["parentUUID"]["string"]]
    assert len(view.nodes) == 1 and "nvidia-caps" in view.controls


def test_two_pods_share_a_claim(installed: Running, namespace: Kubectl) -> None:
    namespace.apply(claim(installed.cluster.release, "shared"))
    for name in ("one", "two"):
        namespace.apply(pod(name, claims={"gpu": "shared"}))
    for name in ("one", "two"):
        namespace.wait_for_pod(name)
    assert look(namespace, "one").products == look(namespace, "two").products


def test_two_containers_share_a_claim_and_a_third_sees_nothing(installed: Running, namespace: Kubectl) -> None:
    together = pod("together", claims={"gpu": "shared"})
    (main,) = together["spec"]["containers"]
    without = {field: value for field, value in main.items() if field != "resources"}
    together["spec"]["containers"] = [main, {**main, "name": "second"}, {**without, "name": "third"}]
    namespace.apply([claim(installed.cluster.release, "shared"), together])
    namespace.wait_for_pod("together")
    assert look(namespace, "together").products == look(namespace, "together", "second").products
    assert namespace.exec("together", "sh", "-c", "ls /dev | grep -c nvidia || true", container="third") == "0\n"


def test_an_extended_resource_request_is_served(installed: Running, namespace: Kubectl) -> None:
    if not installed.cluster.release.at_least("1.36"):
        pytest.skip("extended resources through DRA are on from 1.36")
    asking = pod("extended")
    asking["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "2"}}
    namespace.apply(asking)
    namespace.wait_for_pod("extended")
    assert len(look(namespace, "extended").products) == 2


def test_the_first_available_alternative_is_taken(installed: Running, namespace: Kubectl) -> None:
    if not installed.cluster.release.at_least("1.34"):
        pytest.skip("alternatives are on from 1.34")
    alternatives = [("b200", "Blackwell"), ("h100", "Hopper"), ("a100", "Ampere")]
    listed = [
        {
            "name": name,
            "deviceClassName": "gpu.nvidia.com",
            "selectors": [{"cel": {"expression": f"{ATTRIBUTES}.architecture == '{architecture}'"}}],
        }
        for name, architecture in alternatives
    ]
    wanted = claim(installed.cluster.release, "wanted")
    wanted["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": listed}]
    namespace.apply([wanted, pod("choosy", claims={"gpu": "wanted"})])
    namespace.wait_for_pod("choosy")
    assert list(look(namespace, "choosy").products.values()) == [H100]


def test_admin_access_sees_a_gpu_that_is_in_use_and_only_in_a_labelled_namespace(
    installed: Running, namespace: Kubectl
) -> None:
    if not installed.cluster.release.at_least("1.34"):
        pytest.skip("admin access is on from 1.34")
    used = run_with(installed, namespace)
    (uuid,) = used.products
    admin = claim(
        installed.cluster.release, "admin", adminAccess=True, selectors=[f"{ATTRIBUTES}.uuid == '{uuid}'"]
    )
    assert "admin access" in namespace.refusal(admin)
    namespace("label", "namespace", namespace.namespace, "resource.kubernetes.io/admin-access=true")
    wait_for("the label counts", lambda: namespace("apply", "-f", "-", stdin=as_yaml(admin)), 10)
    namespace.apply(pod("admin", claims={"gpu": "admin"}))
    namespace.wait_for_pod("admin")
    assert look(namespace, "admin").products == used.products
