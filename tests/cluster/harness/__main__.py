"""python3 -m harness up | down | e2e | build | helm | enter: what the Makefile calls."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from harness import cgroups, lifecycle, processes, programs
from harness.errors import ClusterError
from harness.places import BENCH, DAEMONS, DIRECTORY, E2E, PROFILES, SIMULATOR, TOP
from harness.releases import Release, find_release

_CLUSTERS = 3  # Side by side; most tests wait. With four, test_down.py comes near fs.inotify.max_user_instances.


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # As an exception, so that clusters end too.
    arguments = _parser().parse_args()
    try:
        result: int = arguments.run(arguments)
        return result
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


def _up(arguments: argparse.Namespace) -> int:
    start = time.monotonic()
    release, profiles = find_release(arguments.k8s), arguments.profiles.split()
    running = lifecycle.up(arguments.dir, release, profiles, SIMULATOR, bound=False)
    names = ", ".join(f"{node.name} ({node.spec.profile})" for node in running.nodes)
    print(f"Kubernetes {running.cluster.version} is up after {time.monotonic() - start:.0f} s: {names}")
    print(f"  export KUBECONFIG={running.cluster.kubeconfig} PATH={running.cluster.kubernetes}:$PATH")
    elsewhere = "" if arguments.dir == DIRECTORY else f"--dir {arguments.dir} "
    print(f"  tests/cluster/enter {elsewhere}{running.nodes[0].name}   # a shell in a node")
    print(f"  PYTHONPATH=tests/cluster {sys.executable} -m harness {elsewhere}down" if elsewhere else "  make cluster-down")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    _take_down([arguments.dir])
    if arguments.dir == DIRECTORY:
        _sweep()
    print("nothing is left: no process, mount, network or cgroup")
    return 0


def _sweep() -> None:
    """What killed runs of the tests and the benchmark have left; clusters of a run that goes on end with it."""
    _take_down(directory for directory in (*E2E.glob("*/*"), BENCH, DAEMONS) if processes.find_init(directory) is None)
    for orphan in cgroups.remove_orphans(cgroups.homes()):
        print(f"removed {orphan}, of a cluster whose folder is gone")


def _take_down(directories: Iterable[Path]) -> None:
    """Each, whatever becomes of the others."""
    with ExitStack() as stack:
        for directory in directories:
            stack.callback(lifecycle.down, directory)


def _build(arguments: argparse.Namespace) -> int:
    for folder in _ensure_programs(find_release(arguments.k8s)):
        print(folder)
    return 0


def _helm(_: argparse.Namespace) -> int:
    print(programs.ensure(programs.HELM) / "helm")
    return 0


def _enter(arguments: argparse.Namespace) -> int:
    running = lifecycle.attach(arguments.dir)
    by_name = {node.name: node for node in running.nodes}
    if arguments.node not in by_name:
        raise ClusterError(f"there is no node {arguments.node}; there are: {', '.join(by_name)}")
    command = arguments.command or ["sh", "-i"]
    return subprocess.run([*by_name[arguments.node].enter_command(), *command], check=False).returncode


def _e2e(arguments: argparse.Namespace) -> int:
    """Each worker of pytest has a cluster of its own, so tests may do with it what they like. See conftest.py."""
    release = find_release(arguments.k8s)
    _ensure_programs(release)
    workers = [f"--numprocesses={_CLUSTERS}", "--dist=loadgroup"]  # Without groups: a test at a time.
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, *arguments.pytest, str(TOP / "tests/cluster")]
    bound = ["setpriv", "--pdeathsig", "KILL"]  # Killing this process ends all: workers end without pytest, clusters with them.
    try:
        return subprocess.run([*bound, *pytest], env={**os.environ, "K8S": release.version}, check=False).returncode
    finally:
        _take_down((E2E / release.minor).glob("*"))


def _ensure_programs(release: Release) -> list[Path]:
    return [programs.ensure(recipe) for recipe in (programs.kubernetes(release), programs.RUNTIME, programs.HELM)]


def _directory(text: str) -> Path:
    return Path(text).resolve()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    parser.add_argument("--dir", type=_directory, default=DIRECTORY)
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: object) -> argparse.ArgumentParser:
        sub = commands.add_parser(name)
        sub.set_defaults(run=run)
        return sub

    up, e2e, build = command("up", _up), command("e2e", _e2e), command("build", _build)
    for sub in (up, e2e, build):
        sub.add_argument("--k8s", default="", help="Kubernetes release, such as 1.34; default: the newest")
    up.add_argument("--profiles", default=PROFILES, help="one machine of tessera-sim a node")
    e2e.add_argument("pytest", nargs="*", help="options of pytest, after --")
    command("down", _down)
    command("helm", _helm)
    enter = command("enter", _enter)
    enter.add_argument("--dir", type=_directory, default=argparse.SUPPRESS)  # Also after the word, for tests/cluster/enter.
    enter.add_argument("node")
    enter.add_argument("command", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    sys.exit(main())
