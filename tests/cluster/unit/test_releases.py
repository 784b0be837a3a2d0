"""K8S=... names a release, or the error says which there are."""

from __future__ import annotations

import pytest

from harness.errors import ClusterError
from harness.releases import NEWEST, RELEASES, find_release


@pytest.mark.parametrize(
    ("wanted", "version"),
    [("1.34", "1.34.10"), ("v1.34", "1.34.10"), ("1.32.2", "1.32.2"), ("", NEWEST.version)],
)
def test_a_release_is_found_by_minor_or_full_version(wanted: str, version: str) -> None:
    assert find_release(wanted).version == version


@pytest.mark.parametrize("wanted", ["1.31", "1.34.9", "1.3", "newest"])
def test_an_unknown_release_is_refused_with_those_there_are(wanted: str) -> None:
    with pytest.raises(ClusterError, match=r"1\.32, 1\.33, 1\.34, 1\.35, 1\.36, 1\.37"):
        find_release(wanted)


def test_releases_compare_by_number() -> None:
    assert find_release("1.34").at_least("1.34") and find_release("1.37").at_least("1.9")
    assert not find_release("1.33").at_least("1.34")


def test_only_releases_before_1_34_need_a_gate_for_dra() -> None:
    gated = {release.minor for release in RELEASES if "--feature-gates=DynamicResourceAllocation=true" in release.flags()}
    assert gated == {"1.32", "1.33"}
    assert find_release("1.32").flags(api_server=True)[-1] == "--runtime-config=resource.k8s.io/v1beta1=true"
