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
    **spec: Any,
) -> Object:
    """A pod with one container, `main`, that runs until it is told to stop. `claims`: name in the pod → ResourceClaim."""
    container: Object = {"name": "main", "image": TEST_IMAGE, "command": list(command)}
    made: Object = {"containers": [container], "restartPolicy": "Never", **spec}
    if node:
        made["nodeSelector"] = {"kubernetes.io/hostname": node}
    if claims:
        container["resources"] = {"claims": [{"name": name} for name in claims]}
        made["resourceClaims"] = [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}


def claim(
    release: Release,
    name: str,
    *,
    count: int = 1,
    device_class: str = "gpu.nvidia.com",
    selectors: Sequence[str] = (),
) -> Object:
    """A ResourceClaim with one request, `gpu`, in the form of the release's own API version."""
    exactly: Object = {"deviceClassName": device_class, "count": count}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    flat = release.resource_api.endswith("/v1beta1")  # There a request has no `exactly`.
    request: Object = {"name": "gpu", **exactly} if flat else {"name": "gpu", "exactly": exactly}
    return {
        "apiVersion": release.resource_api,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }
