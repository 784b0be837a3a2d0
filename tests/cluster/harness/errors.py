"""What goes wrong, in words for the person who has to act."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class ClusterError(Exception):
    """What was found and what to do next; shown without a traceback."""


def run(
    argv: Sequence[str | Path],
    *,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 120,
) -> str:
    """Runs a program and returns what it printed. When it fails, the error carries what it said."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=stdin if stdin is not None else "",
            env=env,
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise ClusterError(f"{words[0]} is not there; run tools/setup cluster") from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{' '.join(words)}: no answer within {timeout:.0f} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-4000:]
        raise ClusterError(f"{' '.join(words)}: exit status {done.returncode}: {said}")
    return done.stdout
