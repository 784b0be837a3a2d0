"""`tessera run` on a node, as a person there would use it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.image import TEST_IMAGE
from harness.kubectl import Object
from harness.node import FILES, Node
from harness.places import PROGRAMS


@dataclass(frozen=True)
class Tool:
    """The programs on a node that has no other files of ours, and a claim."""

    node: Node
    home: str
    runtime: str
    options: Sequence[str] = ()  # Of the runtime.
    variables: Mapping[str, str] = field(default_factory=dict)

    def command(self, *command: str) -> list[str]:
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        run = [f"{self.home}/tessera", "run", "-f", f"{self.home}/claim.yaml", f"--runtime={self.runtime}"]
        run += [f"--image={TEST_IMAGE}", *(f"--runtime-option={option}" for option in self.options)]
        return [*self.node.enter_command(), "env", *variables, *run, "--", *command]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*command), capture_output=True, text=True, timeout=120, check=False)

    @contextmanager
    def holding(self, when_told_to_end: str = "exit 0") -> Iterator[str]:
        """A run that lasts; gives the one line that `nvidia-smi -L` printed in it.

        The client of a run that is killed tells its container to end. With "" it does not, and outlives both.
        """
        stay = self.command("sh", "-c", f"trap '{when_told_to_end}' TERM; nvidia-smi -L; while :; do sleep 1; done")
        with subprocess.Popen(stay, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline()
            finally:
                self.kill("TERM")
                process.wait(60)

    def kill(self, signal: str) -> None:
        """All runs of this home; that there is none is no error."""
        self.node.run("sh", "-c", f"pkill -{signal} -f '^{self.home}/tessera run' || test $? -eq 1")


@contextmanager
def home(node: Node, name: str, wanted: Object) -> Iterator[str]:
    """A folder of the node with the programs, and with this claim."""
    inside = FILES / name
    outside = node.cluster.node_dir(node.spec) / inside.relative_to("/")
    outside.mkdir(parents=True)
    for program in ("tessera", "tessera-cdi-hook"):
        shutil.copy(PROGRAMS / program, outside)
    (outside / "claim.yaml").write_text(json.dumps(wanted), encoding="utf-8")
    try:
        yield str(inside)
    finally:
        shutil.rmtree(outside)
