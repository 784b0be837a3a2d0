"""Process 1 of a namespace: keeps services running, reaps orphans, obeys the control socket.

The cluster's init runs the control plane and the nodes; a node's init runs containerd and the kubelet. Both are this.
When an init dies, the kernel kills all that it started, and every namespace they held is gone.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import control

_POLL = 0.1  # Seconds between looks at prerequisites and deadlines.
_PAUSE = 1.0  # Before a service that ended is started again.
_PATIENCE = 10.0  # Between SIGTERM and SIGKILL.


@dataclass(frozen=True)
class Service:
    """A program that is to run. `ready_to_start` says whether what it needs is there."""

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    keep_fds: Sequence[int] = ()
    ready_to_start: Callable[[], bool] = lambda: True


@dataclass
class _State:
    service: Service
    wanted: bool = True
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    last_exit: int | None = None
    not_before: float = 0.0
    kill_at: float | None = None

    def describe(self) -> dict[str, Any]:
        pid = self.process.pid if self.process else None
        return {"name": self.service.name, "pid": pid, "starts": self.starts, "last_exit": self.last_exit}


@dataclass
class _Waiting:
    """A question whose answer is due when `holds`."""

    peer: socket.socket
    state: _State
    holds: Callable[[], bool]


class Init:
    """Single-threaded: everything happens in run()."""

    def __init__(self, services: Sequence[Service], control_socket: socket.socket) -> None:
        self._states = {service.name: _State(service) for service in services}
        self._control = control_socket
        self._waiting: list[_Waiting] = []

    def run(self) -> None:
        """Never returns but by SIGTERM: then the process ends, and with it the namespace."""
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # A handler at all, so that the wake-up descriptor is written.
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(wake_read, selectors.EVENT_READ)
            while True:
                self._start_wanted()
                for key, _ in selector.select(_POLL):
                    if key.fileobj is self._control:
                        self._serve()
                    else:
                        os.read(wake_read, 4096)
                self._reap()
                self._kill_overdue()
                self._answer_waiting()

    def _start_wanted(self) -> None:
        now = time.monotonic()
        for state in self._states.values():
            if state.wanted and state.process is None and now >= state.not_before and state.service.ready_to_start():
                self._start(state)

    @staticmethod
    def _start(state: _State) -> None:
        service = state.service
        state.starts += 1
        state.kill_at = None
        with service.log.open("ab") as log:
            try:
                state.process = subprocess.Popen(
                    service.argv,
                    env={**os.environ, **service.env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=service.keep_fds,
                )
            except OSError as error:  # An init that ends takes the others with it.
                log.write(f"cannot start: {error}\n".encode())
                state.last_exit = 127
                state.not_before = time.monotonic() + _PAUSE

    def _reap(self) -> None:
        """Of services and of orphans alike: process 1 inherits those of its namespace."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for state in self._states.values():
                if state.process and state.process.pid == pid:
                    state.process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again.
                    state.last_exit = state.process.returncode
                    state.process = None
                    state.not_before = time.monotonic() + _PAUSE

    def _kill_overdue(self) -> None:
        for state in self._states.values():
            if state.process and state.kill_at is not None and time.monotonic() > state.kill_at:
                os.kill(state.process.pid, signal.SIGKILL)
                state.kill_at = None

    def _serve(self) -> None:
        peer, _ = self._control.accept()
        peer.settimeout(5)
        try:
            question = control.receive(peer)
            self._obey(question, peer)
        except (OSError, ValueError, KeyError) as error:
            _reply(peer, {"error": f"not understood: {error!r}"})

    def _obey(self, question: dict[str, Any], peer: socket.socket) -> None:
        todo = question["do"]
        if todo == "status":
            _reply(peer, {"services": [state.describe() for state in self._states.values()]})
            return
        name = question["service"]
        if name not in self._states:
            _reply(peer, {"error": f"no service {name}; there are: {', '.join(self._states)}"})
            return
        state = self._states[name]
        if todo == "stop":
            self._stop(state, peer, signal.Signals(question["signal"]), again=False)
        elif todo == "restart":
            self._stop(state, peer, signal.Signals(question["signal"]), again=True)
        elif todo == "start":
            state.wanted = True
            state.not_before = 0.0
            self._waiting.append(_Waiting(peer, state, lambda: state.process is not None))
        else:
            _reply(peer, {"error": f'"{todo}" is not known; do is status, stop, restart or start'})

    def _stop(self, state: _State, peer: socket.socket, how: signal.Signals, *, again: bool) -> None:
        """Answers when it is gone; with `again`, when it has been started anew."""
        state.wanted = again
        starts = state.starts
        if state.process:
            os.kill(state.process.pid, how)
            state.kill_at = time.monotonic() + _PATIENCE
        if again:
            self._waiting.append(_Waiting(peer, state, lambda: state.starts > starts and state.process is not None))
        else:
            self._waiting.append(_Waiting(peer, state, lambda: state.process is None))

    def _answer_waiting(self) -> None:
        for waiting in [each for each in self._waiting if each.holds()]:
            self._waiting.remove(waiting)
            _reply(waiting.peer, waiting.state.describe())


def _reply(peer: socket.socket, answer: dict[str, Any]) -> None:
    """Who asked may be gone by now."""
    with peer:
        try:
            control.send(peer, answer)
        except OSError:
            return
