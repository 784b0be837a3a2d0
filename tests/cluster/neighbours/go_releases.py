"""The Go driver's releases: in what the files and names differ that each leaves on a node."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class GoRelease:
    """Every field is a difference that broke, or could break, somebody who came after it."""

    name: str
    two_versions: bool = True  # The checkpoint has `v2`, with claims that are merely begun.
    names_claims: bool = True  # There, begun claims carry their names.
    knows_boots: bool = True  # There is a boot id.
    spells_out_mps: bool = True  # An empty mpsControlDaemonID is written.
    mig_tuple: bool = True  # A MIG device is recorded by what it is (`concrete`), and not by its UUID alone (`info`).
    mig_bus_id: bool = True  # With its GPU's PCI address.
    profile_in_names: bool = True  # gpu-0-mig-1g5gb-19-0, where it was gpu-0-mig-19-0-1.
    base_spec: bool = False  # Devices are in one CDI file for the node; each has two ids.
    standard_bus_id: bool = True  # Published as resource.kubernetes.io/pciBusID, and not as pcieBusID.

    def __str__(self) -> str:
        return self.name


_V25_8 = GoRelease(
    "v25.8.1",
    names_claims=False,
    knows_boots=False,
    mig_tuple=False,
    profile_in_names=False,
    base_spec=True,
    standard_bus_id=False,
)
_V25_3 = replace(_V25_8, name="v25.3.2", two_versions=False)
_V25_12 = GoRelease("v25.12.0", knows_boots=False, mig_bus_id=False)
_V0_4 = GoRelease("v0.4.1")
HEAD = GoRelease("2026-08-07", spells_out_mps=False)  # The source of that day.

RELEASES = (_V25_3, _V25_8, _V25_12, _V0_4, HEAD)


def find(name: str) -> GoRelease:
    return next(release for release in RELEASES if release.name == name)
