"""Who may do what: tried on the API server with the plugin's own token and with the chart's roles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from _pytest.python_api import RaisesContext

from harness import driver
from harness.errors import ClusterError
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from manifests import claim


def slice_of(running: Running, node: str) -> Object:
    return next(each for each in running.kubectl.items("resourceslices") if each["spec"]["nodeName"] == node)


def as_plugin_on(running: Running, node: str, folder: Path) -> Kubectl:
    """kubectl with a token such as the plugin's pod on this node has: bound to the pod, and so to the node."""
    tessera = running.kubectl.in_namespace(driver.NAMESPACE)
    plugin = next(each for each in tessera.items("pods") if each["spec"]["nodeName"] == node)
    bound = ["--bound-object-kind=Pod", f"--bound-object-name={plugin['metadata']['name']}"]
    return with_token(tessera, tessera("create", "token", plugin["spec"]["serviceAccountName"], *bound).strip(), folder)


def with_token(kubectl: Kubectl, token: str, folder: Path) -> Kubectl:
    """The same kubectl as somebody else."""
    config = json.loads(kubectl.kubeconfig.read_text("utf-8"))
    config["users"][0]["user"] = {"token": token}
    file = folder / "plugin.kubeconfig"
    file.write_text(json.dumps(config), encoding="utf-8")
    file.chmod(0o600)
    return Kubectl(kubectl.program, file, kubectl.namespace)


def refused(words: str) -> RaisesContext[ClusterError]:
    return pytest.raises(ClusterError, match=words)


def slices_path(running: Running) -> str:
    return f"/apis/{running.cluster.release.resource_api}/resourceslices"


def test_a_plugin_may_write_slices_of_its_own_node_only(installed: Running, tmp_path: Path) -> None:
    first, second = (node.name for node in installed.nodes[:2])
    plugin, path = as_plugin_on(installed, first, tmp_path), slices_path(installed)
    made = slice_of(installed, first)
    spec: Object = {**made["spec"], "pool": {**made["spec"]["pool"], "name": "of-a-test"}}
    mine: Object = {**made, "metadata": {"name": "of-a-test"}, "spec": spec}
    # Not for good: the plugin removes slices of its node that it does not want.
    plugin("create", "--raw", f"{path}?dryRun=All", "-f", "-", stdin=json.dumps(mine))

    theirs: Object = {**mine, "spec": {**spec, "nodeName": second}}
    there = slice_of(installed, second)
    named = f"{path}/{there['metadata']['name']}"
    with refused(f"the plugin on node {first} may write only slices of that node"):
        plugin("create", "--raw", path, "-f", "-", stdin=json.dumps(theirs))
    with refused(f"the plugin on node {first} may write only slices of that node"):
        plugin("replace", "--raw", named, "-f", "-", stdin=json.dumps({**there, "spec": {**there["spec"], "devices": []}}))
    with refused(f"the plugin on node {first} may write only slices of that node"):
        plugin("delete", "--raw", named)


def test_a_token_that_is_bound_to_no_node_writes_no_slices(installed: Running, tmp_path: Path) -> None:
    tessera = installed.kubectl.in_namespace(driver.NAMESPACE)
    account = tessera.items("daemonsets")[0]["spec"]["template"]["spec"]["serviceAccountName"]
    anywhere = with_token(tessera, tessera("create", "token", account).strip(), tmp_path)
    made = slice_of(installed, installed.nodes[0].name)
    mine: Object = {**made, "metadata": {"name": "of-a-test"}}
    with refused("the token names no node"):
        anywhere("create", "--raw", slices_path(installed), "-f", "-", stdin=json.dumps(mine))


@pytest.mark.parametrize(
    "request_of",
    [
        pytest.param(("get", "pods", "--all-namespaces"), id="read pods"),
        pytest.param(("get", "secrets"), id="read secrets"),
        pytest.param(("get", "resourceclaims", "--all-namespaces"), id="list claims"),
        pytest.param(("delete", "deviceclass", "gpu.nvidia.com"), id="delete a class"),
        pytest.param(("label", "node", "node-1", "tessera.test/x=y"), id="label its node"),
    ],
)
def test_a_plugin_may_do_nothing_that_it_does_not_need(
    installed: Running, tmp_path: Path, request_of: tuple[str, ...]
) -> None:
    with refused("forbidden"):
        as_plugin_on(installed, "node-1", tmp_path)(*request_of)


def test_a_workload_owner_writes_claims_but_neither_classes_nor_slices(installed: Running, namespace: Kubectl) -> None:
    user = f"owner-of-{namespace.namespace}"
    namespace("create", "rolebinding", "owner", "--clusterrole=tessera-workload-owner", f"--user={user}")
    owner = f"--as={user}"
    namespace("create", owner, "-f", "-", stdin=json.dumps(claim(installed.cluster.release, "mine")))
    namespace("delete", owner, "resourceclaim", "mine")

    foreign = {**slice_of(installed, "node-1"), "metadata": {"name": "of-a-test"}}
    for wanted in (device_class(installed, "of-a-test"), foreign):
        with refused("forbidden"):
            namespace("create", owner, "-f", "-", stdin=json.dumps(wanted))
    for kind, name in (("deviceclass", "gpu.nvidia.com"), ("resourceslice", slice_of(installed, "node-1")["metadata"]["name"])):
        with refused("forbidden"):
            namespace("annotate", owner, kind, name, "tessera.test/x=y")
        with refused("forbidden"):
            namespace("delete", owner, kind, name)
    with refused("forbidden"):
        elsewhere = namespace.in_namespace("default")
        elsewhere("create", owner, "-f", "-", stdin=json.dumps(claim(installed.cluster.release, "x")))
    namespace("create", "clusterrolebinding", user, "--clusterrole=tessera-device-viewer", f"--user={user}")
    try:
        assert "gpu.nvidia.com" in namespace("get", owner, "deviceclasses,resourceslices")
    finally:
        namespace("delete", "clusterrolebinding", user)


def test_a_cluster_admin_writes_classes_and_sees_claims_but_writes_none(installed: Running, namespace: Kubectl) -> None:
    user = f"admin-of-{namespace.namespace}"
    namespace.apply(claim(installed.cluster.release, "seen"))
    namespace("create", "clusterrolebinding", user, "--clusterrole=tessera-cluster-admin", f"--user={user}")
    admin = f"--as={user}"
    try:
        namespace("create", admin, "-f", "-", stdin=json.dumps(device_class(installed, user)))
        namespace("annotate", admin, "deviceclass", user, "tessera.test/x=y")
        namespace("delete", admin, "deviceclass", user)
        assert "seen" in namespace("get", admin, "resourceclaims,resourceslices")
        with refused("forbidden"):
            namespace("delete", admin, "resourceclaim", "seen")
        with refused("forbidden"):
            namespace("create", admin, "-f", "-", stdin=json.dumps(claim(installed.cluster.release, "mine")))
        with refused("forbidden"):
            namespace("delete", admin, "resourceslice", slice_of(installed, "node-1")["metadata"]["name"])
    finally:
        namespace("delete", "clusterrolebinding", user)


def device_class(running: Running, name: str) -> Object:
    made: Object = {"apiVersion": running.cluster.release.resource_api, "kind": "DeviceClass", "spec": {}}
    return {**made, "metadata": {"name": name}}
