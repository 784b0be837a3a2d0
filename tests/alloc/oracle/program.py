"""Builds the program around Kubernetes' allocator, one for each release."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.golang import cache_root, find_go, go_environment  # noqa: E402

RELEASES = ("1.36", "1.37")
OLDER = ("1.34", "1.35")  # These go through pools in random order: only problems of one pool can be compared.


def oracle(release: str) -> Path:
    """Built once for each text of the program and of its pins."""
    folder = cache_root() / "alloc-oracle" / release
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "oracle"
    parts = {source.name: source.name for source in HERE.glob("*.go")}
    parts |= {f"go-{release}.mod": "go.mod", f"go-{release}.sum": "go.sum"}
    fresh = program.exists()
    for name, target in parts.items():
        if not (folder / target).exists() or (folder / target).read_bytes() != (HERE / name).read_bytes():
            shutil.copy(HERE / name, folder / target)
            fresh = False
    if not fresh:
        program.unlink(missing_ok=True)
        tag = "kubernetes_" + release.replace(".", "_")
        command = [str(find_go()), "build", "-tags", tag, "-o", str(program), "."]
        subprocess.run(command, cwd=folder, env=go_environment(), check=True)
    return program
