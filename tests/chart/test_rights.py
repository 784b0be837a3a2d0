"""Who may do what."""

import re

from chart import ROOT, Objects, one, pod, render

READ = {"get", "list", "watch"}


def rules(objects: Objects, role: str) -> dict[tuple[str, str], set[str]]:
    """(group, resource) → verbs."""
    found: dict[tuple[str, str], set[str]] = {}
    for rule in objects["ClusterRole", role]["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def documented_rights() -> dict[tuple[str, str], set[str]]:
    """The table of docs/configuration.md; empty cells repeat the row above."""
    text = (ROOT / "docs/configuration.md").read_text()
    section = text.split("## Rights at the API server")[1].split("\n## ")[0]
    found: dict[tuple[str, str], set[str]] = {}
    group = resource = ""
    for row in re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \| .* \|$|^\| \| \| (.*?) \|", section, re.MULTILINE):
        cells = [cell.strip("` ") for cell in row]
        if cells[0] == "Group":
            continue
        if cells[0]:
            group, resource = ("" if cells[0] == "core" else cells[0]), cells[1]
        verbs = cells[2] or cells[3]
        found.setdefault((group, resource), set()).update(verb.strip() for verb in verbs.split(","))
    return found


def test_the_plugin_may_do_what_its_documentation_lists_and_nothing_else() -> None:
    assert rules(render(), "tessera-kubelet-plugin") == documented_rights()


def test_the_plugin_writes_only_its_own_entries_of_claims_on_its_own_node() -> None:
    granted = [r for r in render()["ClusterRole", "tessera-kubelet-plugin"]["rules"] if "/" in r["resources"][0]]
    assert [(r["resources"], r.get("resourceNames"), r["verbs"]) for r in granted] == [
        (["resourceclaims/status"], None, ["patch"]),
        (["resourceclaims/driver"], ["gpu.nvidia.com"], ["associated-node:patch"]),
    ]


def test_account_binding_policy_and_pod_mean_the_same_account() -> None:
    for values in ({}, {"serviceAccount": {"name": "dra"}}, {"namespaceOverride": "gpu", "fullnameOverride": "x"}):
        objects = render(values)
        account = one(objects, "ServiceAccount")["metadata"]
        subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        assert one(objects, "ClusterRoleBinding")["subjects"] == [subject]
        assert pod(objects)["serviceAccountName"] == account["name"]
        (condition,) = one(objects, "ValidatingAdmissionPolicy")["spec"]["matchConditions"]
        assert f'"system:serviceaccount:{account["namespace"]}:{account["name"]}"' in condition["expression"]


def test_the_policy_denies_and_covers_every_write() -> None:
    objects = render()
    policy = one(objects, "ValidatingAdmissionPolicy")
    assert policy["spec"]["failurePolicy"] == "Fail"
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    writes = rules(objects, "tessera-kubelet-plugin")["resource.k8s.io", "resourceslices"] - READ
    assert set(rule["operations"]) == {verb.upper() for verb in writes}
    assert rule["apiVersions"] == ["*"]
    binding = one(objects, "ValidatingAdmissionPolicyBinding")["spec"]
    assert binding == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


def test_without_an_account_of_the_charts_no_rights_are_given() -> None:
    objects = render({"serviceAccount": {"create": False, "name": "mine"}})
    assert not {"ServiceAccount", "ClusterRoleBinding"} & {kind for kind, _ in objects}
    assert ("ClusterRole", "tessera-kubelet-plugin") not in objects
    assert pod(objects)["serviceAccountName"] == "mine-kubeletplugin"


def test_a_workload_owner_writes_claims_and_nothing_else() -> None:
    objects = render()
    owner = rules(objects, "tessera-workload-owner") | rules(objects, "tessera-device-viewer")
    written = {resource for (_, resource), verbs in owner.items() if verbs - READ}
    assert written == {"resourceclaims", "resourceclaimtemplates"}


def test_a_cluster_admin_writes_no_claims_and_no_slices() -> None:
    admin = rules(render(), "tessera-cluster-admin")
    written = {resource for (_, resource), verbs in admin.items() if verbs - READ}
    assert written == {"deviceclasses", "devicetaintrules"}


def test_device_classes_outlive_the_release() -> None:
    classes = [o for (kind, _), o in render().items() if kind == "DeviceClass"]
    assert {c["metadata"]["name"] for c in classes} == {"gpu.nvidia.com", "mig.nvidia.com"}
    assert all(c["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for c in classes)
    assert "DeviceClass" not in {kind for kind, _ in render({"deviceClasses": {"create": False}})}


def test_the_extended_resource_is_only_in_the_version_that_has_it() -> None:
    name = ("DeviceClass", "gpu.nvidia.com")
    assert render()[name]["spec"]["extendedResourceName"] == "nvidia.com/gpu"
    for values in ({"resourceApiVersion": "resource.k8s.io/v1beta1"}, {"deviceClasses": {"extendedResourceName": ""}}):
        assert "extendedResourceName" not in render(values)[name]["spec"]
