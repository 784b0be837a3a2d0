"""The Kubernetes releases that can be chosen, and what each needs for DRA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import ClusterError


@dataclass(frozen=True)
class Release:
    """One Kubernetes release; its Go modules are pinned in build/kubernetes-<minor>."""

    version: str
    feature_gates: tuple[str, ...] = ()
    runtime_config: tuple[str, ...] = ()

    @property
    def minor(self) -> str:
        return self.version.rpartition(".")[0]

    @property
    def resource_api(self) -> str:
        """The newest version of resource.k8s.io that it serves."""
        return {"1.32": "resource.k8s.io/v1beta1", "1.33": "resource.k8s.io/v1beta2"}.get(self.minor, "resource.k8s.io/v1")

    def at_least(self, minor: str) -> bool:
        return int(self.minor.partition(".")[2]) >= int(minor.partition(".")[2])

    def flags(self, *, api_server: bool = False) -> list[str]:
        """What every component is told; the API server also which API versions to serve."""
        flags = [f"--feature-gates={','.join(self.feature_gates)}"] if self.feature_gates else []
        if api_server and self.runtime_config:
            flags.append(f"--runtime-config={','.join(self.runtime_config)}")
        return flags


# Releases of which the Go module proxy has every module. Until 1.34, DRA was a beta that is off as shipped. 1.34 has its
# alpha gates for the health of devices on, 1.35 has them off as shipped: both must work.
_DRA = ("DynamicResourceAllocation=true",)
RELEASES: Sequence[Release] = (
    Release("1.32.2", _DRA, ("resource.k8s.io/v1beta1=true",)),
    Release("1.33.13", _DRA, ("resource.k8s.io/v1beta1=true", "resource.k8s.io/v1beta2=true")),
    Release("1.34.10", ("DRADeviceTaints=true", "ResourceHealthStatus=true"), ("resource.k8s.io/v1alpha3=true",)),
    Release("1.35.8"),
    Release("1.36.4"),
    Release("1.37.1"),
)
NEWEST = RELEASES[-1]


def find_release(wanted: str) -> Release:
    """The release of a name such as "1.34", "v1.34" or "1.34.10"; the newest for an empty one."""
    name = wanted.removeprefix("v")
    if not name:
        return NEWEST
    for release in RELEASES:
        if name in (release.minor, release.version):
            return release
    known = ", ".join(release.minor for release in RELEASES)
    raise ClusterError(f'Kubernetes "{wanted}" is not pinned here; K8S is one of {known}')
