"""What is refused, and that the message shows a form that works."""

import re
import textwrap
from typing import Any

import pytest
import yaml
from chart import HERE, Cluster, refusal, render

# Values, and what the message must say.
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "Go image of v25": (
        {"image": {"repository": "nvcr.io/nvidia/k8s-dra-driver-gpu"}},
        "\"nvcr.io/nvidia/k8s-dra-driver-gpu\" is the Go driver's image",
    ),
    "Go image of v0.4": (
        {"image": {"repository": "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"}},
        "is the Go driver's image",
    ),
    "Go image on a mirror": ({"image": {"repository": "mirror:5000/k8s-dra-driver-gpu"}}, "is the Go driver's image"),
    "the Go driver's tag on our image": ({"image": {"tag": "v25.8.1"}}, '"v25.8.1" is a release of the Go driver'),
    "ComputeDomains": (
        {"resources": {"computeDomains": {"enabled": True}}},
        "ComputeDomains are not served yet",
    ),
    "nothing to install": ({"resources": {"gpus": {"enabled": False}}}, "leaves nothing to install"),
    "webhook": ({"webhook": {"enabled": True}}, "the admission webhook is not served yet"),
    "MPS": ({"featureGates": {"MPSSupport": True}}, "not served yet: MPSSupport"),
    "two gates": (
        {"featureGates": {"TimeSlicingSettings": True, "DynamicMIG": True}},
        "not served yet: DynamicMIG, TimeSlicingSettings",
    ),
    "shares": ({"consumableShares": "memory"}, "consumable shares are not served yet"),
    "shares, as a number": ({"consumableShares": 4}, "consumable shares are not served yet"),
    "masked parameters": ({"maskNvidiaDriverParams": True}, "maskNvidiaDriverParams is not served"),
    "legacy namespace": ({"namespace": "gpu"}, "namespace is no value"),
    "legacy nvidia-ctk": ({"nvidiaCtkPath": "/usr/bin/nvidia-ctk"}, "nvidiaCtkPath is a value of old releases"),
    "nested under the old chart's name": (
        {"nvidia-dra-driver-gpu": {"logVerbosity": "4"}},
        'values below "nvidia-dra-driver-gpu:" reach no template',
    ),
    "nested under the new chart's name": (
        {"dra-driver-nvidia-gpu": {"logVerbosity": "4"}},
        'values below "dra-driver-nvidia-gpu:" reach no template',
    ),
    "nested, and no values": ({"charts": {"a": "b"}}, 'values below "charts:" reach no template'),
    "ServiceMonitor without metrics": (
        {"serviceMonitor": {"enabled": True}, "kubeletPlugin": {"metrics": {"enabled": False}}},
        "metrics are off or not reachable",
    ),
    "ServiceMonitor of the pod's loopback": (
        {"serviceMonitor": {"enabled": True}, "kubeletPlugin": {"metrics": {"gpuHttpEndpoint": "127.0.0.1:80"}}},
        "metrics are off or not reachable",
    ),
}


def suggested(message: str) -> dict[str, Any]:
    """The YAML that a message shows, indented by two, all of its blocks as one."""
    blocks = re.findall(r"(?:^  .*\n)+", message, re.MULTILINE)
    assert blocks, message
    values: dict[str, Any] = {}
    for block in blocks:
        values |= yaml.safe_load(textwrap.dedent(block))
    return values


def merged(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """As Helm merges a second values file."""
    result = dict(base)
    for key, value in top.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = merged(base[key], value) if both else value
    return result


@pytest.mark.parametrize("name", CASES)
def test_refused_with_the_reason(name: str) -> None:
    values, reason = CASES[name]
    assert reason in refusal(values)


@pytest.mark.parametrize("name", CASES)
def test_what_the_message_shows_is_taken(name: str) -> None:
    values, _ = CASES[name]
    correction = suggested(refusal(values))
    removed = {"charts", "namespace", "nvidiaCtkPath", "nvidia-dra-driver-gpu", "dra-driver-nvidia-gpu"}
    render(merged({k: v for k, v in values.items() if k not in removed}, correction))


def test_the_guides_values_are_shown_at_the_right_level_with_our_image() -> None:
    file = HERE / "values" / "guide-as-printed.yaml"
    correction = suggested(refusal(file))
    (printed,) = yaml.safe_load(file.read_text())["charts"].values()
    assert correction == printed | {"image": {"repository": "REGISTRY/tessera"}}


def test_everything_wrong_is_told_at_once() -> None:
    gates = {"featureGates": {"MPSSupport": True}}
    message = refusal({"webhook": {"enabled": True}, "consumableShares": "memory"} | gates)
    for reason in ("webhook is not served", "consumable shares are not served", "MPSSupport"):
        assert reason in message


def test_the_default_namespace_needs_insistence() -> None:
    assert 'does not belong into the namespace "default"' in refusal(namespace="default")
    render({"allowDefaultNamespace": True}, namespace="default")
    render({"namespaceOverride": "gpu"}, namespace="default")


def test_a_surge_is_refused_where_kubelets_know_one_instance() -> None:
    values = {"kubeletPlugin": {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}}}
    assert "kubelets before 1.33" in refusal(values, Cluster("1.32.2"))
    render(values, Cluster("1.33.0"))
