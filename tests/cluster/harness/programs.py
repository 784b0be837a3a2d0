"""Builds the cluster's programs from pinned Go modules, once, into a cache that all trees share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ClusterError
from harness.golang import cache_root, find_go, go_environment
from harness.releases import Release

BUILD = Path(__file__).parent.parent / "build"


@dataclass(frozen=True)
class Recipe:
    """One folder of build/ and what is built from it."""

    name: str
    version: str
    packages: tuple[str, ...]
    tags: str = ""
    ldflags: str = "-s -w"

    @property
    def folder(self) -> Path:
        return BUILD / self.name


def kubernetes(release: Release) -> Recipe:
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
    major, minor, _ = release.version.split(".")
    # Without these the programs say v0.0.0, and version skew checks and Helm believe it.
    stamps = {"gitVersion": f"v{release.version}", "gitMajor": major, "gitMinor": minor}
    stamped = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    return Recipe(
        name=f"kubernetes-{release.minor}",
        version=release.version,
        packages=tuple(f"k8s.io/kubernetes/cmd/{name}" for name in names),
        ldflags=f"-s -w {stamped}",
    )


RUNTIME = Recipe(
    name="runtime",
    version="etcd-3.6.12+containerd-2.4.2",
    packages=(
        "go.etcd.io/etcd/server/v3",
        "github.com/containerd/containerd/v2/cmd/containerd",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "github.com/containerd/containerd/v2/cmd/ctr",
    ),
    tags="no_btrfs no_zfs no_devmapper no_aufs",
)
HELM = Recipe(name="helm", version="3.22.0", packages=("helm.sh/helm/v3/cmd/helm",))
# What only `make run-daemons` needs. `tessera run` asks both for their versions, which are stamped like those of Kubernetes.
DOCKER = Recipe(
    name="docker",
    version="docker-28.5.2",
    packages=("github.com/docker/docker/cmd/dockerd", "github.com/docker/cli/cmd/docker"),
    tags="exclude_graphdriver_btrfs exclude_graphdriver_zfs",
    ldflags="-s -w -X github.com/docker/docker/dockerversion.Version=28.5.2 -X github.com/docker/cli/cli/version.Version=28.5.2",
)
NERDCTL = Recipe(
    name="nerdctl",
    version="nerdctl-2.2.1",
    packages=("github.com/containerd/nerdctl/v2/cmd/nerdctl",),
    ldflags="-s -w -X github.com/containerd/nerdctl/v2/pkg/version.Version=v2.2.1",
)

Builder = Callable[[Recipe, Path], None]


def ensure(recipe: Recipe, build: Builder | None = None, cache: Path | None = None) -> Path:
    """The folder with the recipe's programs, built if it is not there. Safe for several callers at once."""
    cache = cache or cache_root()
    home = cache / recipe.version / f"{recipe.name}-{key(recipe)}"
    if home.is_dir():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with _lock(home.parent / f"{recipe.name}.lock"):
        if home.is_dir():  # Somebody else built it while we waited.
            return home
        _remove_unfinished(home.parent, recipe.name)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{recipe.name}.", dir=home.parent))
        (build or go_build)(recipe, unfinished)
        os.rename(unfinished, home)
    return home


def key(recipe: Recipe) -> str:
    """Changes with everything that changes the programs: modules, checksums, flags."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        try:
            digest.update((recipe.folder / name).read_bytes())
        except FileNotFoundError as error:
            raise ClusterError(f"{error.filename} is missing; its modules are pinned with `go mod tidy`") from error
    digest.update(repr(recipe).encode())
    return digest.hexdigest()[:16]


def go_build(recipe: Recipe, out: Path) -> None:
    """Compiles into `out`. Go checks every module against go.sum and changes neither go.mod nor go.sum."""
    go = find_go()
    print(f"building {recipe.name} (once; minutes on few cores)", file=sys.stderr, flush=True)
    argv: list[str | Path] = [go, "build", "-mod=readonly", "-buildvcs=false", "-trimpath", f"-ldflags={recipe.ldflags}"]
    argv += ["-gcflags=all=-dwarf=false", f"-tags={recipe.tags}", "-o", f"{out}/", *recipe.packages]
    # Debug information would not get past -s -w; without it, and with less garbage collection, an eighth less of a CPU's time.
    environment = go_environment() | {"GOGC": "400"}
    done = subprocess.run(argv, cwd=recipe.folder, env=environment, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ClusterError(f"go build in {recipe.folder} failed; see above")
    if (out / "server").exists():  # A program is named after the last part of its package's path.
        (out / "server").rename(out / "etcd")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One builder at a time; the kernel lets go when its holder dies."""
    with path.open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another build ({path})", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_unfinished(parent: Path, name: str) -> None:
    """What a killed build left; called with the lock, so nobody is using it."""
    for folder in parent.glob(f".{name}.*"):
        shutil.rmtree(folder)
