"""python3 -m harness up | down | e2e | build | helm | enter: what the Makefile calls."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from harness import lifecycle, programs
from harness.errors import ClusterError
from harness.places import DIRECTORY, PROFILES, SIMULATOR, TOP
from harness.releases import find_release

_NONE_COLLECTED = 5  # pytest: no test was chosen.


def main() -> int:
    arguments = _parser().parse_args()
    try:
        result: int = arguments.run(arguments)
        return result
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


def _up(arguments: argparse.Namespace) -> int:
    start = time.monotonic()
    running = _bring_up(arguments, bound=False)
    names = ", ".join(f"{node.name} ({node.spec.profile})" for node in running.nodes)
    print(f"Kubernetes {running.cluster.version} is up after {time.monotonic() - start:.0f} s: {names}")
    print(f"  export KUBECONFIG={running.cluster.kubeconfig} PATH={running.cluster.kubernetes}:$PATH")
    print(f"  tests/cluster/enter {running.nodes[0].name}   # a shell in a node")
    print("  make cluster-down")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    lifecycle.down(arguments.dir)
    print("nothing is left: no process, mount, network or cgroup")
    return 0


def _build(arguments: argparse.Namespace) -> int:
    for recipe in (programs.kubernetes(find_release(arguments.k8s)), programs.RUNTIME, programs.HELM):
        print(programs.ensure(recipe))
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
    """Up, tests, down. Tests find the cluster through the environment, so that workers share it."""
    programs.ensure(programs.HELM)
    running = _bring_up(arguments, bound=True)
    try:
        env = {**os.environ, "TESSERA_CLUSTER": str(running.cluster.dir)}
        together = _pytest(["--numprocesses=4", "-m", "not alone", *arguments.pytest], env)
        alone = _pytest(["-m", "alone", *arguments.pytest], env)
    finally:
        lifecycle.down(arguments.dir)
    if together == alone == _NONE_COLLECTED:
        raise ClusterError("no test matches")
    return max(code for code in (together, alone) if code != _NONE_COLLECTED)


def _pytest(options: list[str], env: dict[str, str]) -> int:
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(TOP / "tests/cluster")]
    return subprocess.run(argv, env=env, check=False).returncode


def _bring_up(arguments: argparse.Namespace, *, bound: bool) -> lifecycle.Running:
    release, profiles = find_release(arguments.k8s), arguments.profiles.split()
    return lifecycle.up(arguments.dir, release, profiles, SIMULATOR, bound=bound)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    parser.add_argument("--dir", type=lambda text: Path(text).resolve(), default=DIRECTORY)
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: object) -> argparse.ArgumentParser:
        sub = commands.add_parser(name)
        sub.set_defaults(run=run)
        return sub

    for sub in (command("up", _up), command("e2e", _e2e), command("build", _build)):
        sub.add_argument("--k8s", default="", help="Kubernetes release, such as 1.34; default: the newest")
        sub.add_argument("--profiles", default=PROFILES, help="one machine of tessera-sim a node")
        if sub.prog.endswith("e2e"):
            sub.add_argument("pytest", nargs="*", help="options of pytest, after --")
    command("down", _down)
    command("helm", _helm)
    enter = command("enter", _enter)
    enter.add_argument("node")
    enter.add_argument("command", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    sys.exit(main())
