"""The chart as `helm template` writes it, put to a real API server: taken without a warning, and twice is as good as once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from gpu_view import look
from harness import driver
from harness.kubectl import Kubectl, Object, as_yaml
from harness.lifecycle import Running
from harness.places import CHART, TOP
from workloads import start_with_gpu

VALUES = TOP / "tests/chart/values"  # Those of the chart's golden files.
NOBODY: Object = {"tessera.test/nobody": "here"}  # A node selector that no node has: these drivers must not run.


@dataclass(frozen=True)
class Case:
    """A values file, and the API versions of what it renders that are no part of Kubernetes."""

    values: str | None = None
    foreign: frozenset[str] = frozenset()


CASES = {
    "defaults": Case(),
    "guide": Case("guide.yaml"),
    "go-driver": Case("go-driver.yaml"),
    "kubernetes-1.32": Case("kubernetes-1.32.yaml"),
    "openshift": Case("openshift.yaml", frozenset({"security.openshift.io/v1"})),
    "everything": Case("everything.yaml", frozenset({"monitoring.coreos.com/v1"})),
}


def render(running: Running, *words: str, release: str, namespace: str, stdin: str | None = None) -> list[Object]:
    """As the chart's README says it is done for a cluster of this release."""
    told = [f"--kube-version={running.cluster.version}", f"--set=resourceApiVersion={running.cluster.release.resource_api}"]
    command = ["template", release, str(CHART), f"--namespace={namespace}", *words, *told]
    return [each for each in yaml.safe_load_all(driver.helm(running, *command, stdin=stdin)) if each]


def render_case(running: Running, case: Case, release: str, namespace: str, **more: object) -> list[Object]:
    """What Kubernetes itself can judge of it."""
    given: Object = {"personas.workloadOwner.namespaces": [namespace], **more}  # Those of the file are not there.
    words = [f"--values={VALUES / case.values}"] if case.values else []
    words += [f"--api-versions={api}" for api in sorted(case.foreign)]
    words += [f"--set-json={name}={json.dumps(value)}" for name, value in given.items()]
    rendered = render(running, *words, release=release, namespace=namespace)
    served = set(running.kubectl("api-versions").split())
    assert {each["apiVersion"] for each in rendered} - served == case.foreign
    return [each for each in rendered if each["apiVersion"] in served]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_api_server_takes_what_is_rendered_without_a_warning(cluster: Running, case: Case) -> None:
    kubectl = cluster.kubectl.in_namespace("kube-system")  # Any that is there: nothing is made.
    rendered = render_case(cluster, case, "dry", kubectl.namespace)
    taken = kubectl("--warnings-as-errors", "apply", "--dry-run=server", "-f", "-", stdin=as_yaml(rendered))
    assert taken.count("(server dry run)") == len(rendered)


@pytest.fixture
def applied(cluster: Running, namespace: Kubectl, case: Case) -> Iterator[list[Object]]:
    """A release that was applied, next to the one under test: nodes and DeviceClasses are left to that."""
    shown = {"kubeletPlugin.nodeSelector": NOBODY, "deviceClasses.create": False}
    rendered = render_case(cluster, case, namespace.namespace, namespace.namespace, **shown)
    own = [each for each in rendered if each["kind"] != "Namespace"]
    try:
        namespace("apply", "--server-side", "-f", "-", stdin=as_yaml(rendered))
        yield rendered
    finally:
        namespace("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=as_yaml(own))


@pytest.mark.parametrize("case", [CASES["go-driver"], CASES["everything"]], ids=["go-driver", "everything"])
def test_applying_it_again_changes_nothing(namespace: Kubectl, applied: list[Object]) -> None:
    assert namespace("diff", "--server-side", "-f", "-", stdin=as_yaml(applied)) == ""


@pytest.mark.long
def test_what_helm_has_installed_can_be_applied_and_then_differs_in_nothing(installed: Running) -> None:
    """The release under test, its DeviceClasses included, as GitOps would go on with it."""
    given = driver.current_values(installed)
    rendered = render(installed, "--values=-", release="tessera", namespace=driver.NAMESPACE, stdin=given)
    kubectl, how = installed.kubectl.in_namespace(driver.NAMESPACE), ("--server-side", "--force-conflicts", "-f", "-")
    plugin = ("daemonset", "tessera-kubelet-plugin")
    before = kubectl.get(*plugin)["metadata"]["generation"]
    kubectl("apply", *how, stdin=as_yaml(rendered))
    assert kubectl("diff", *how, stdin=as_yaml(rendered)) == ""
    assert kubectl.get(*plugin)["metadata"]["generation"] == before  # Nothing is rolled out.


@pytest.fixture
def with_go_values(installed: Running) -> Iterator[Running]:
    """The Go driver's values file, but for the image, the places of another kubelet and the simulated driver's."""
    before = driver.current_values(installed)
    ours, given = yaml.safe_load(before), yaml.safe_load((VALUES / "go-driver.yaml").read_text("utf-8"))
    plugin = given["kubeletPlugin"]
    del plugin["kubeletRegistrarDirectoryPath"], plugin["kubeletPluginsDirectoryPath"]
    plugin["containers"]["gpus"]["env"] += ours["kubeletPlugin"]["containers"]["gpus"]["env"]
    installed.kubectl("label", "nodes", "--all", *(f"{key}={value}" for key, value in plugin["nodeSelector"].items()))
    driver.upgrade(installed, yaml.safe_dump({**given, "image": ours["image"]}))
    yield installed
    driver.upgrade(installed, before)
    installed.kubectl("label", "nodes", "--all", *(f"{key}-" for key in plugin["nodeSelector"]))


def test_a_values_file_of_the_go_driver_installs_a_driver_that_serves(
    with_go_values: Running, namespace: Kubectl
) -> None:
    start_with_gpu(with_go_values, namespace, with_go_values.nodes[0], "user")
    assert len(look(namespace, "user").products) == 1
    (daemons,) = with_go_values.kubectl.in_namespace(driver.NAMESPACE).items("daemonsets")
    assert daemons["spec"]["template"]["spec"]["serviceAccountName"] == "dra-kubeletplugin"
