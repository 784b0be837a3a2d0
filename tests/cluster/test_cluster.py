"""The cluster itself: what every other test takes for granted."""

from __future__ import annotations

import json

import pytest

from harness.errors import ClusterError
from harness.kubectl import Kubectl, Object, condition
from harness.lifecycle import Running
from harness.waiting import wait_for
from manifests import pod

NODE_PROGRAMS = {"name": "programs", "hostPath": {"path": "/opt/cluster/kubernetes", "type": "Directory"}}


def test_a_pod_runs_on_each_node(cluster: Running, namespace: Kubectl) -> None:
    for node in cluster.nodes:
        namespace.apply(pod(f"on-{node.name}", node=node.name))
    for node in cluster.nodes:
        running = namespace.wait_for_pod(f"on-{node.name}")
        assert running["spec"]["nodeName"] == node.name
        assert running["status"]["hostIP"] == node.spec.address


def test_logs_and_exec_reach_the_container(namespace: Kubectl) -> None:
    namespace.apply(pod("talker", command=["sh", "-c", "echo to the log; exec sleep 1000"]))
    namespace.wait_for_pod("talker")
    assert namespace.logs("talker") == "to the log\n"
    assert namespace.exec("talker", "hostname") == "talker\n"


def test_pods_of_two_nodes_reach_each_other(cluster: Running, namespace: Kubectl) -> None:
    first, second = cluster.nodes[:2]
    serve = ["sh", "-c", "echo found > /tmp/answer; httpd -f -p 8080 -h /tmp"]
    namespace.apply(pod("server", command=serve, node=first.name))
    namespace.apply(pod("client", node=second.name))
    namespace.wait_for_pod("client")
    address = namespace.wait_for_pod("server")["status"]["podIP"]
    ask = ["wget", "-q", "-O-", f"http://{address}:8080/answer"]
    fetched = wait_for("an answer", lambda: namespace.exec("client", *ask))
    assert fetched == "found\n"


def test_pods_reach_the_api_server_with_their_service_account(cluster: Running, namespace: Kubectl) -> None:
    for node in cluster.nodes:
        asking = pod(f"from-{node.name}", node=node.name, volumes=[NODE_PROGRAMS])
        asking["spec"]["containers"][0]["volumeMounts"] = [{"name": "programs", "mountPath": "/programs"}]
        namespace.apply(asking)
    for node in cluster.nodes:
        namespace.wait_for_pod(f"from-{node.name}")
        review = json.loads(namespace.exec(f"from-{node.name}", "/programs/kubectl", "auth", "whoami", "-o", "json"))
        assert review["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace.namespace}:default"


def test_a_node_reads_no_other_node_and_not_all_its_labels_are_its_own(cluster: Running) -> None:
    """The node authorizer and NodeRestriction are on."""
    first, second = cluster.nodes[:2]
    as_node = ["kubectl", "--kubeconfig=/etc/kubernetes/kubeconfig"]
    with pytest.raises(ClusterError, match="is forbidden"):
        first.run(*as_node, "get", "node", second.name)
    with pytest.raises(ClusterError, match="is not allowed to modify labels"):
        first.run(*as_node, "label", "node", first.name, "node-restriction.kubernetes.io/mine=yes")


def test_nodes_keep_out_of_each_others_cgroups(cluster: Running, namespace: Kubectl) -> None:
    for node in cluster.nodes:
        namespace.apply(pod(f"in-{node.name}", node=node.name))
    for node in cluster.nodes:
        namespace.wait_for_pod(f"in-{node.name}")
        groups = namespace.exec(f"in-{node.name}", "cat", "/proc/1/cgroup")
        assert f"/{cluster.cluster.id}/{node.name}/kubepods" in groups


def test_each_node_has_its_own_gpus(cluster: Running) -> None:
    for node in cluster.nodes:
        listed = node.run("/run/nvidia/driver/usr/bin/nvidia-smi", "-L")
        boards = [line for line in listed.splitlines() if line.startswith("GPU ")]
        assert boards
        for index in range(len(boards)):
            node.run("test", "-c", f"/dev/nvidia{index}")


@pytest.mark.long
def test_pods_survive_a_kubelet_that_is_killed(cluster: Running, namespace: Kubectl) -> None:
    node = cluster.nodes[0]
    namespace.apply(pod("steady", node=node.name))
    before = namespace.wait_for_pod("steady")
    node.kubelet.kill()
    namespace.apply(pod("later", node=node.name))
    namespace.wait_for_pod("later")
    after = namespace.get("pod", "steady")
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]


@pytest.mark.long
def test_a_reboot_ends_the_containers_and_changes_the_boot_id(cluster: Running, namespace: Kubectl) -> None:
    node = cluster.nodes[-1]
    namespace.apply(pod("restarted", node=node.name, restartPolicy="Always"))
    namespace.wait_for_pod("restarted")
    before = namespace.get("node", node.name)["status"]["nodeInfo"]["bootID"]
    node.run("sh", "-c", "mkdir -p /var/run/cdi && touch /var/run/cdi/left")
    node.power.restart()
    cluster.kubectl.wait_until(
        ("node", node.name), lambda found: found["status"]["nodeInfo"]["bootID"] != before, "a new boot id"
    )
    cluster.kubectl.wait_until(("node", node.name), _is_ready, f"{node.name} Ready")
    again = namespace.wait_until(("pod", "restarted"), _was_restarted, "the container runs again", 120)
    assert again["status"]["phase"] == "Running"
    with pytest.raises(ClusterError):
        node.run("test", "-e", "/var/run/cdi/left")


@pytest.mark.long
def test_the_api_server_comes_back_with_what_it_knew(cluster: Running, namespace: Kubectl) -> None:
    namespace("create", "configmap", "kept", "--from-literal=key=value")
    cluster.service("kube-apiserver").stop()
    with pytest.raises(ClusterError):
        namespace.get("configmap", "kept")
    cluster.service("kube-apiserver").start()
    kept = wait_for("an answer", lambda: namespace.get("configmap", "kept"))
    assert kept["data"] == {"key": "value"}
    cluster.wait_until_ready()


def _is_ready(node: Object) -> bool:
    return condition(node, "Ready")


def _was_restarted(found: Object) -> bool:
    (status,) = found["status"]["containerStatuses"]
    return bool(status["restartCount"] == 1 and status["ready"])
