"""What the driver costs on a real cluster of one node: `make bench-cluster`; README.md says what is measured and how."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

import drivers
import report
import side_by_side
import workload
from api import Api
from drivers import PEER, Driver, Slices
from harness import lifecycle, programs
from harness.errors import ClusterError, run
from harness.lifecycle import Running
from harness.places import BENCH, SIMULATOR, TOP
from harness.releases import NEWEST
from report import Row

MACHINE = "dgx-h100"  # Eight GPUs.
RESULT = TOP / "build/bench/cluster.json"


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # As an exception, so that the cluster ends too.
    arguments = _arguments()
    try:
        _measure(arguments)
    except ClusterError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(arguments: argparse.Namespace) -> None:
    peer = drivers.build_peer(NEWEST.version)
    programs.ensure(programs.HELM)
    about = report.machine()
    _say("bringing up a cluster of one node")
    running = lifecycle.up(BENCH, NEWEST, [MACHINE], SIMULATOR, bound=True)
    try:
        rows = _all_rows(running, peer, arguments)
    finally:
        lifecycle.down(BENCH)
    about |= _versions(running) | {"load_at_end": report.machine()["load"], "amounts": vars(arguments)}
    report.write(RESULT, about, rows)
    print(report.table(rows))
    print(f"\nload of the machine: {about['load']} before, {about['load_at_end']} after; also in {RESULT}")


def _all_rows(running: Running, peer: Path, arguments: argparse.Namespace) -> list[Row]:
    api = Api(running.cluster)
    _say("both drivers side by side")
    amount = side_by_side.Amount(starts=arguments.starts, rounds=arguments.rounds, idle=arguments.idle)
    rows = side_by_side.measure(running, api, peer, amount)
    _say("installing the chart")
    pods = workload.prepare(running)
    other = Driver(PEER, running.nodes[0])
    other.start(Slices(api))
    _say("starting pods one at a time")
    rows += workload.start_latency(pods, arguments.pods)
    other.stop()
    _say("churning pods")
    churned, calm = workload.churn(running, api, pods, arguments.churn)
    _say("upgrading under load")
    return rows + churned + workload.upgrade(running, api, pods, calm)


def _versions(running: Running) -> dict[str, Any]:
    ours = run([drivers.BIN / "tessera-kubelet-plugin", "--version"]).strip()
    return {"kubernetes": running.cluster.version, "driver": ours, "simulated": MACHINE}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=30, help="started one at a time, of each kind")
    parser.add_argument("--churn", type=int, default=100, help="pods in the churn, with claims and again without")
    parser.add_argument("--rounds", type=int, default=200, help="Prepares of each caller")
    parser.add_argument("--starts", type=int, default=11, help="starts of each driver")
    parser.add_argument("--idle", type=float, default=10, help="seconds before memory is looked at")
    return parser.parse_args()


def _say(text: str) -> None:
    print(f"{text} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
