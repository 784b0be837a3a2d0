"""Objects that several tests need, as Python values: a test says only what matters to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.image import TEST_IMAGE
from harness.kubectl import Object
from harness.releases import Release

FOREVER = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"]


def pod(
    name: str,
    *,
    command: Sequence[str] = FOREVER,
    node: str | None = None,
    claims: Mapping[str, str] | None = None,
    templates: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A pod with one container, `main`, that runs until it is told to stop.

    `claims` and `templates`: name in the pod → ResourceClaim or ResourceClaimTemplate.
    """
    container: Object = {"name": "main", "image": TEST_IMAGE, "command": list(command)}
    made: Object = {"containers": [container], "restartPolicy": "Never", **spec}
    if node:
        made["nodeSelector"] = {"kubernetes.io/hostname": node}
    sources = [{"name": name, "resourceClaimName": source} for name, source in (claims or {}).items()]
    sources += [{"name": name, "resourceClaimTemplateName": source} for name, source in (templates or {}).items()]
    if sources:
        container["resources"] = {"claims": [{"name": source["name"]} for source in sources]}
        made["resourceClaims"] = sources
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}


def replicated(kind: str, name: str, replicas: int, template: Object) -> Object:
    """A Deployment or StatefulSet of this pod; its pods carry the label app=name."""
    labels = {"app": name}
    spec: Object = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {**template["spec"], "restartPolicy": "Always"}},
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def claim(release: Release, name: str, **wanted: Any) -> Object:
    """A ResourceClaim with one request, `gpu`; `wanted` as in claim_spec()."""
    return {
        "apiVersion": release.resource_api,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": claim_spec(release, **wanted),
    }


def claim_template(release: Release, name: str, **wanted: Any) -> Object:
    """The same for pods that get a claim each."""
    return {
        "apiVersion": release.resource_api,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": claim_spec(release, **wanted)},
    }


def claim_spec(
    release: Release,
    *,
    count: int = 1,
    device_class: str = "gpu.nvidia.com",
    selectors: Sequence[str] = (),
    same: str | None = None,
    **exact: Any,
) -> Object:
    """In the form of the release's own API version. `same`: an attribute that all share; `exact`: further fields."""
    amount: Object = {} if exact.get("allocationMode") == "All" else {"count": count}
    exactly: Object = {"deviceClassName": device_class, **amount, **exact}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    flat = release.resource_api.endswith("/v1beta1")  # There a request has no `exactly`.
    devices: Object = {"requests": [{"name": "gpu", **exactly} if flat else {"name": "gpu", "exactly": exactly}]}
    if same:
        devices["constraints"] = [{"requests": ["gpu"], "matchAttribute": same}]
    return {"devices": devices}
