"""The Go driver's checkpoint.json: written as each release writes it, and read by the rules of each release.

A release believes a file only if the checksums fit what its own structs keep of it. So this is also the judge of what
Tessera leaves behind.
"""

from __future__ import annotations

import json
from typing import Any

from neighbours.go_json import FLAG, NUMBER, RAW, TEXT, CannotDecode, Field, List, Map, Struct
from neighbours.go_json import checksum, encode, struct, through_go
from neighbours.go_releases import GoRelease

COMPLETED, STARTED = "PrepareCompleted", "PrepareStarted"
Claims = dict[str, dict[str, Any]]  # UID → record, in the form of the newest release.


class Refused(Exception):
    """The release would not start with this file."""


def write(release: GoRelease, claims: Claims, boot_id: str) -> str:
    completed = {uid: claim for uid, claim in claims.items() if claim["checkpointState"] == COMPLETED}
    file = _sum({"checksum": 0, "v1": through_go(_version(_claim_v1(release)), {"preparedClaims": completed})})
    if release.two_versions:
        second = {"preparedClaims": claims, "nodeBootID": boot_id}
        file["v2"] = _sum({"checksum": 0, **through_go(_version_2(release), second)})
    return encode(file)


def read(release: GoRelease, text: str) -> tuple[Claims, str]:
    """The claims and the boot id. Refused when this release would not believe the file."""
    try:
        file = json.loads(text)
        first = through_go(_version(_claim_v1(release)), file["v1"])
        second = through_go(_version_2(release), file["v2"]) if release.two_versions else None
    except (ValueError, KeyError, CannotDecode) as error:
        raise Refused(f"{release} cannot decode it: {error}") from error
    _compare(release, file, {"checksum": 0, "v1": first})
    if second is None:
        completed = first.get("preparedClaims", {}).items()
        return {uid: {"checkpointState": COMPLETED, **claim} for uid, claim in completed}, ""
    _compare(release, file["v2"], {"checksum": 0, **second})
    return second.get("preparedClaims", {}), second.get("nodeBootID", "")


def _compare(release: GoRelease, claimed: dict[str, Any], kept: dict[str, Any]) -> None:
    found = checksum(kept)
    if claimed.get("checksum") != found:
        said = claimed.get("checksum")
        raise Refused(f"{release} computes checksum {found}, the file says {said}; it keeps: {encode(kept)}")


def _sum(version: dict[str, Any]) -> dict[str, Any]:
    return {**version, "checksum": checksum(version)}


# ---- The structs. Those of Kubernetes are k8s.io/api's resource/v1, as far as a claim's status goes.

_TOLERATION = struct(
    Field("key", TEXT, optional=True),
    Field("operator", TEXT, optional=True),
    Field("value", TEXT, optional=True),
    Field("effect", TEXT, optional=True),
    Field("tolerationSeconds", NUMBER, pointer=True, optional=True),
)
_RESULT = struct(
    Field("request", TEXT),
    Field("driver", TEXT),
    Field("pool", TEXT),
    Field("device", TEXT),
    Field("adminAccess", FLAG, pointer=True, optional=True),
    Field("tolerations", List(_TOLERATION), optional=True),
    Field("bindingConditions", List(TEXT), optional=True),
    Field("bindingFailureConditions", List(TEXT), optional=True),
    Field("shareID", TEXT, pointer=True, optional=True),
    Field("consumedCapacity", Map(TEXT), optional=True),
)
_OPAQUE = struct(Field("driver", TEXT), Field("parameters", RAW))
_CONFIG = struct(
    Field("source", TEXT),
    Field("requests", List(TEXT), optional=True),
    Field("opaque", _OPAQUE, pointer=True, optional=True),
)
_REQUIREMENT = struct(Field("key", TEXT), Field("operator", TEXT), Field("values", List(TEXT), optional=True))
_TERM = struct(
    Field("matchExpressions", List(_REQUIREMENT), optional=True), Field("matchFields", List(_REQUIREMENT), optional=True)
)
_DEVICES = struct(Field("results", List(_RESULT), optional=True), Field("config", List(_CONFIG), optional=True))
_ALLOCATION = struct(
    Field("devices", _DEVICES, optional=True),
    Field("nodeSelector", struct(Field("nodeSelectorTerms", List(_TERM))), pointer=True, optional=True),
    Field("allocationTimestamp", TEXT, pointer=True, optional=True),
)
_CONSUMER = struct(Field("apiGroup", TEXT, optional=True), Field("resource", TEXT), Field("name", TEXT), Field("uid", TEXT))
_CONDITION = struct(
    Field("type", TEXT),
    Field("status", TEXT),
    Field("observedGeneration", NUMBER, optional=True),
    Field("lastTransitionTime", TEXT),
    Field("reason", TEXT),
    Field("message", TEXT),
)
_NETWORK = struct(
    Field("interfaceName", TEXT, optional=True),
    Field("ips", List(TEXT), optional=True),
    Field("hardwareAddress", TEXT, optional=True),
)
_DEVICE_STATUS = struct(
    Field("driver", TEXT),
    Field("pool", TEXT),
    Field("device", TEXT),
    Field("shareID", TEXT, pointer=True, optional=True),
    Field("conditions", List(_CONDITION)),
    Field("data", RAW, pointer=True, optional=True),
    Field("networkData", _NETWORK, pointer=True, optional=True),
)
_STATUS = struct(
    Field("allocation", _ALLOCATION, pointer=True, optional=True),
    Field("reservedFor", List(_CONSUMER), optional=True),
    Field("devices", List(_DEVICE_STATUS), optional=True),
)
_HELPER_DEVICE = struct(
    Field("Requests", List(TEXT)),
    Field("PoolName", TEXT),
    Field("DeviceName", TEXT),
    Field("CDIDeviceIDs", List(TEXT)),
    Field("ShareID", TEXT, pointer=True, optional=True),
)


_VFIO = struct(Field("uuid", TEXT), Field("pciBusID", TEXT, optional=True))


def _prepared(name: str, what: Struct) -> Struct:
    return struct(Field(name, what, pointer=True), Field("device", _HELPER_DEVICE, pointer=True))


def _mig(release: GoRelease) -> Struct:
    if not release.mig_tuple:
        return _prepared("info", struct(Field("uuid", TEXT)))
    fields = [Field(name, NUMBER) for name in ("parentMinor", "giId", "ciId")]
    fields += [Field(name, TEXT) for name in ("migUUID", "parentUUID")]
    if release.mig_bus_id:
        fields.append(Field("parentPCIBusID", TEXT, optional=True))
    return _prepared("concrete", struct(*fields))


def _group(release: GoRelease) -> Struct:
    device = struct(
        Field("gpu", _prepared("info", struct(Field("uuid", TEXT))), pointer=True),
        Field("mig", _mig(release), pointer=True),
        Field("vfio", _prepared("info", _VFIO), pointer=True, optional=True),
    )
    state = struct(
        Field("mpsControlDaemonID", TEXT, optional=not release.spells_out_mps),
        Field("mpsApplied", FLAG, pointer=True, optional=True),
        Field("timeSliceApplied", FLAG, pointer=True, optional=True),
    )
    return struct(Field("devices", List(device)), Field("configState", state))


def _claim_v1(release: GoRelease) -> Struct:
    return struct(Field("status", _STATUS, optional=True), Field("preparedDevices", List(_group(release)), optional=True))


def _claim_v2(release: GoRelease) -> Struct:
    names = [Field("name", TEXT, optional=True), Field("namespace", TEXT, optional=True)]
    return struct(
        Field("checkpointState", TEXT), *_claim_v1(release).fields, *(names if release.names_claims else [])
    )


def _version(claim: Struct) -> Struct:
    return struct(Field("preparedClaims", Map(claim), optional=True))


def _version_2(release: GoRelease) -> Struct:
    boot = [Field("nodeBootID", TEXT, optional=True)] if release.knows_boots else []
    return struct(*_version(_claim_v2(release)).fields, *boot)
