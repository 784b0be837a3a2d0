"""The plugin's pod."""

import re
from typing import Any

import pytest
import yaml
from chart import ROOT, Cluster, Object, Objects, container, environment, one, pod, render


def with_plugin(**values: Any) -> dict[str, Any]:
    return {"kubeletPlugin": values}


def host_paths(objects: Objects) -> dict[str, str]:
    return {v["name"]: v["hostPath"]["path"] for v in pod(objects)["volumes"]}


def mount_paths(objects: Objects) -> dict[str, str]:
    return {m["name"]: m["mountPath"] for m in container(objects)["volumeMounts"]}


def strategy(objects: Objects) -> Object:
    return one(objects, "DaemonSet")["spec"]["updateStrategy"]["rollingUpdate"]


def test_the_container_has_the_name_that_people_use() -> None:
    assert container(render())["name"] == "gpus"
    assert "initContainers" not in pod(render())


def test_the_plugin_is_root_although_the_image_is_not() -> None:
    """Also with values of the Go driver, whose image runs as root without being asked."""
    theirs = {"kubeletPlugin": {"containers": {"gpus": {"securityContext": {"privileged": True}}}}}
    for values in ({}, theirs):
        assert container(render(values))["securityContext"]["runAsUser"] == 0


def test_every_variable_is_one_that_the_plugin_knows() -> None:
    flags = (ROOT / "src/cmd/tessera-kubelet-plugin/flags.cc").read_text()
    known = set(re.findall(r'"([A-Z][A-Z_]+)"', flags))
    values = {
        "nvidiaDriverRoot": "/run/nvidia/driver",
        "nvidiaCDIHookPath": "/hook",
        "excludeDevices": [1],
        "featureGates": {"AllBeta": True},
        "health": {"lease": "1m", "policy": {"isolation": "taint"}, "verdictsDirectory": "/v", "ignoreXids": [13]},
    }
    foreign = {"NVIDIA_VISIBLE_DEVICES"}  # An NVIDIA runtime's: keeps it from adding devices.
    for objects in (render(values), render(values | with_plugin(metrics={"enabled": False}))):
        assert {e["name"] for e in container(objects)["env"]} - foreign <= known


def test_the_health_policy_is_a_config_map_that_the_plugin_reads() -> None:
    objects = render({"health": {"policy": {"lease": "1m", "xids": {94: {"severity": "none"}}}}})
    name = "tessera-health-policy"
    policy = yaml.safe_load(objects["ConfigMap", name]["data"]["policy.yaml"])
    assert policy == {"version": 1, "lease": "1m", "xids": {"94": {"severity": "none"}}}
    assert {"name": "health-policy", "configMap": {"name": name}} in pod(objects)["volumes"]
    directory = next(m for m in container(objects)["volumeMounts"] if m["name"] == "health-policy")
    assert "subPath" not in directory, "it would not follow changes"
    assert environment(objects)["HEALTH_POLICY_FILE"] == directory["mountPath"] + "/policy.yaml"


def test_verdicts_come_from_the_nodes_directory() -> None:
    objects = render({"health": {"verdictsDirectory": "/var/run/verdicts"}})
    assert host_paths(objects)["health-verdicts"] == "/var/run/verdicts"
    assert environment(objects)["HEALTH_VERDICTS_DIR"] == mount_paths(objects)["health-verdicts"]
    assert "HEALTH_VERDICTS_DIR" not in environment(render())


def test_a_variable_of_the_users_replaces_the_charts() -> None:
    mine = [{"name": name, "value": "6"} for name in ("NODE_NAME", "LOG_VERBOSITY", "MINE")]
    env = container(render(with_plugin(containers={"gpus": {"env": mine}})))["env"]
    assert len({e["name"] for e in env}) == len(env)
    assert all(variable in env for variable in mine)


@pytest.mark.parametrize(
    ("given", "mounted", "variables"),
    [
        ("", "/", {}),
        ("/", "/", {"NVIDIA_DRIVER_ROOT": "/", "DRIVER_ROOT_CTR_PATH": "/driver-root"}),
        (
            "/run/nvidia/driver/",
            "/run/nvidia",
            {"NVIDIA_DRIVER_ROOT": "/run/nvidia/driver", "DRIVER_ROOT_CTR_PATH": "/driver-root/driver"},
        ),
        ("/driver", "/", {"NVIDIA_DRIVER_ROOT": "/driver", "DRIVER_ROOT_CTR_PATH": "/driver-root/driver"}),
    ],
)
def test_the_driver_root_is_seen_through_a_mount_that_outlives_it(
    given: str, mounted: str, variables: dict[str, str]
) -> None:
    objects = render({"nvidiaDriverRoot": given})
    assert host_paths(objects)["driver-root"] == mounted
    env = environment(objects)
    assert {k: env[k] for k in ("NVIDIA_DRIVER_ROOT", "DRIVER_ROOT_CTR_PATH") if k in env} == variables


def test_what_kubelet_and_runtime_are_told_has_the_hosts_path() -> None:
    objects = render(
        {"cdiRoot": "/data/cdi"}
        | with_plugin(
            kubeletPluginsDirectoryPath="/data/kubelet/plugins", kubeletRegistrarDirectoryPath="/data/kubelet/registry"
        )
    )
    for name, path in {
        "cdi": "/data/cdi",
        "plugins": "/data/kubelet/plugins",
        "plugins-registry": "/data/kubelet/registry",
        "pod-resources": "/data/kubelet/pod-resources",
    }.items():
        assert host_paths(objects)[name] == mount_paths(objects)[name] == path


def test_nothing_is_written_below_the_hosts_dev() -> None:
    assert not container(render())["terminationMessagePath"].startswith("/dev")


@pytest.mark.parametrize("endpoint", [":8080", "0.0.0.0:8080", "[::]:8080"])
def test_probes_are_http_where_the_kubelet_reaches_it(endpoint: str) -> None:
    objects = render(with_plugin(metrics={"gpuHttpEndpoint": endpoint}))
    plugin = container(objects)
    assert plugin["ports"] == [{"name": "http", "containerPort": 8080}]
    for probe in ("startupProbe", "livenessProbe"):
        assert plugin[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert plugin["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert environment(objects)["HTTP_ENDPOINT"] == endpoint
    assert "HEALTHCHECK_PORT" not in environment(objects)


@pytest.mark.parametrize(
    "metrics", [{"enabled": False}, {"gpuHttpEndpoint": ""}, {"gpuHttpEndpoint": "127.0.0.1:8080"}]
)
def test_probes_are_grpc_where_http_does_not_serve_them(metrics: dict[str, Any]) -> None:
    objects = render(with_plugin(metrics=metrics))
    plugin = container(objects)
    assert plugin["startupProbe"]["grpc"] == plugin["livenessProbe"]["grpc"] == {"port": 51516, "service": "liveness"}
    assert environment(objects)["HEALTHCHECK_PORT"] == "51516"
    assert "readinessProbe" not in plugin, "gRPC health knows only liveness"


def test_without_http_and_without_a_health_port_there_are_no_probes() -> None:
    objects = render(with_plugin(metrics={"enabled": False}, containers={"gpus": {"healthcheckPort": -1}}))
    assert not {"startupProbe", "livenessProbe", "readinessProbe", "ports"} & set(container(objects))
    assert not {"HTTP_ENDPOINT", "HEALTHCHECK_PORT"} & set(environment(objects))


@pytest.mark.parametrize(
    ("version", "given", "surge"),
    [
        ("1.33.0", {}, 1),
        ("1.33.4-gke.100", {}, 1),
        ("1.32.9", {}, 0),
        ("1.37.1", {"rollingUpdate": {"maxUnavailable": "100%"}}, 0),
        ("1.37.1", {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}}, "10%"),
        ("1.37.1", {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 1}}, "0%"),
    ],
)
def test_instances_have_sockets_of_their_own_exactly_where_two_may_run(
    version: str, given: dict[str, Any], surge: int | str
) -> None:
    objects = render(with_plugin(updateStrategy=given), Cluster(version))
    assert strategy(objects).get("maxSurge", 0) == surge
    named = "POD_UID" in {e["name"] for e in container(objects)["env"]}
    assert named == (surge not in (0, "0%"))


def test_affinity_can_be_removed() -> None:
    assert "affinity" not in pod(render(with_plugin(affinity=None)))


def test_pods_carry_the_selectors_labels_whatever_they_are() -> None:
    for values in ({}, {"selectorLabelsOverride": {"app": "gpu"}}, with_plugin(podLabels={"app": "gpu"})):
        daemon_set = one(render(values), "DaemonSet")["spec"]
        labels = daemon_set["template"]["metadata"]["labels"]
        assert daemon_set["selector"]["matchLabels"].items() <= labels.items()
        assert labels["app.kubernetes.io/name"] == "tessera"


def test_names_stay_short_enough_for_labels() -> None:
    for _, name in render(release="r" * 53):
        assert len(name) <= 63
