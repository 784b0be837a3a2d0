"""The cache of built programs: built once, never half done, safe for two users."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness import programs
from harness.errors import ClusterError
from harness.programs import DOCKER, HELM, NERDCTL, RUNTIME, Recipe, ensure, key, kubernetes
from harness.releases import RELEASES


@dataclass
class FakeBuilder:
    """Writes one program a call; fails when told to."""

    fail: bool = False
    calls: int = 0
    gate: threading.Event = field(default_factory=threading.Event)

    def __call__(self, recipe: Recipe, out: Path) -> None:
        self.calls += 1
        (out / "program").write_text(recipe.version, encoding="ascii")
        self.gate.wait(0.1)
        if self.fail:
            raise ClusterError("killed")


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recipe]:
    monkeypatch.setattr(programs, "BUILD", tmp_path / "build")
    made = Recipe("thing", "1.2.3", ("example.com/thing",))
    made.folder.mkdir(parents=True)
    (made.folder / "go.mod").write_text("module thing\n", encoding="ascii")
    (made.folder / "go.sum").write_text("sum\n", encoding="ascii")
    yield made


def test_what_is_built_is_used_again(recipe: Recipe, tmp_path: Path) -> None:
    builder = FakeBuilder()
    first = ensure(recipe, builder, tmp_path / "cache")
    assert ensure(recipe, builder, tmp_path / "cache") == first
    assert (first / "program").read_text("ascii") == "1.2.3"
    assert builder.calls == 1


def test_a_build_that_dies_leaves_nothing_that_looks_finished(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="killed"):
        ensure(recipe, FakeBuilder(fail=True), tmp_path / "cache")
    home = ensure(recipe, FakeBuilder(), tmp_path / "cache")
    assert sorted(entry.name for entry in home.parent.iterdir()) == sorted(["thing.lock", home.name])


def test_two_at_once_build_once(recipe: Recipe, tmp_path: Path) -> None:
    builder = FakeBuilder()
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(ensure(recipe, builder, tmp_path / "cache"))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builder.calls == 1
    assert len(set(found)) == 1 and len(found) == 2


def test_a_changed_checksum_is_another_build(recipe: Recipe) -> None:
    before = key(recipe)
    (recipe.folder / "go.sum").write_text("other\n", encoding="ascii")
    assert key(recipe) != before


def test_a_missing_pin_is_named(recipe: Recipe) -> None:
    (recipe.folder / "go.sum").unlink()
    with pytest.raises(ClusterError, match=r"go\.sum is missing"):
        key(recipe)


def test_each_release_pins_its_own_version() -> None:
    for release in RELEASES:
        pinned = (kubernetes(release).folder / "go.mod").read_text("utf-8")
        assert f"k8s.io/kubernetes v{release.version}\n" in pinned
        assert f"k8s.io/kubelet => k8s.io/kubelet v0.{release.version.removeprefix('1.')}\n" in pinned


def test_names_in_the_cache_are_the_pinned_versions() -> None:
    helm = (HELM.folder / "go.mod").read_text("utf-8")
    assert f"helm.sh/helm/v3 v{HELM.version}\n" in helm
    pinned = (RUNTIME.folder / "go.mod").read_text("utf-8")
    for part, module in zip(RUNTIME.version.split("+"), ("etcd/server/v3", "containerd/v2")):
        assert f"{module} v{part.rpartition('-')[2]}\n" in pinned


def test_programs_that_are_asked_for_their_version_know_it() -> None:
    modules = {
        DOCKER: ("github.com/docker/docker v{}+incompatible", "github.com/docker/cli v{}+incompatible"),
        NERDCTL: ("github.com/containerd/nerdctl/v2 v{}",),
    }
    for recipe, wanted in modules.items():
        pinned, version = (recipe.folder / "go.mod").read_text("utf-8"), recipe.version.rpartition("-")[2]
        assert all(f"{module.format(version)}\n" in pinned for module in wanted)
        assert recipe.ldflags.count(version) == len(wanted)
