"""An init keeps its services running and does what the control socket says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import control
from harness.errors import ClusterError
from harness.waiting import wait_for

HARNESS = Path(__file__).parents[1]
# Runs as a program, because an init reaps every child of its process.
PROGRAM = """
import sys
from pathlib import Path
from harness import control
from harness.init import Init, Service
home = Path(sys.argv[1])
gate = home / "gate"
Init([
    Service("sleeper", ["sleep", "1000"], home / "sleeper.log"),
    Service("gated", ["sleep", "1000"], home / "gated.log", ready_to_start=gate.exists),
    Service("missing", ["/nonexistent/program"], home / "missing.log"),
], control.listen(home)).run()
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    deep = tmp_path / ("long-" * 30)  # A socket's path may be longer than the kernel takes.
    deep.mkdir()
    env = {**os.environ, "PYTHONPATH": str(HARNESS)}
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(deep)], env=env, start_new_session=True) as process:
        wait_for("the sleeper", lambda: describe(deep, "sleeper")["pid"], 10)
        yield deep
        for name in ("sleeper", "gated"):
            control.ask(deep, {"do": "stop", "service": name, "signal": signal.SIGKILL})
        process.terminate()


def describe(home: Path, name: str) -> dict[str, Any]:
    services = control.ask(home, {"do": "status"})["services"]
    found: dict[str, Any] = next(service for service in services if service["name"] == name)
    return found


def test_a_service_that_dies_is_started_again(home: Path) -> None:
    os.kill(describe(home, "sleeper")["pid"], signal.SIGKILL)
    wait_for("a second start", lambda: describe(home, "sleeper")["starts"] == 2, 10)
    assert describe(home, "sleeper")["last_exit"] == -signal.SIGKILL


def test_a_stopped_service_stays_down_until_it_is_started(home: Path) -> None:
    stopped = control.ask(home, {"do": "stop", "service": "sleeper", "signal": signal.SIGTERM})
    assert (stopped["pid"], stopped["last_exit"]) == (None, -signal.SIGTERM)
    assert control.ask(home, {"do": "start", "service": "sleeper"})["starts"] == 2


def test_restart_answers_when_the_new_one_runs(home: Path) -> None:
    before = describe(home, "sleeper")["pid"]
    after = control.ask(home, {"do": "restart", "service": "sleeper", "signal": signal.SIGTERM})
    assert after["pid"] not in (None, before)


def test_a_service_waits_for_what_it_needs(home: Path) -> None:
    assert describe(home, "gated")["starts"] == 0
    (home / "gate").touch()
    wait_for("the gated service", lambda: describe(home, "gated")["pid"], 10)


def test_a_program_that_is_missing_does_not_end_the_others(home: Path) -> None:
    wait_for("its exit", lambda: describe(home, "missing")["last_exit"] == 127, 10)
    assert "cannot start" in (home / "missing.log").read_text("utf-8")
    assert describe(home, "sleeper")["pid"] is not None


@pytest.mark.parametrize(
    ("question", "refusal"),
    [
        ({"do": "stop", "service": "kubelet", "signal": 15}, "no service kubelet; there are: sleeper, gated, missing"),
        ({"do": "jump", "service": "sleeper"}, "do is status, stop, restart or start"),
        ({"service": "sleeper"}, "not understood"),
    ],
)
def test_nonsense_is_refused_with_what_is_known(home: Path, question: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ClusterError, match=refusal):
        control.ask(home, question)
