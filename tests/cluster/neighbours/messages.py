"""The kubelet's messages as Python classes. protoc makes them from the files that the product is built from."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from harness.errors import run
from harness.places import TOP

_HERE = Path(__file__).parent


@cache
def load(name: str) -> ModuleType:
    """The classes of `name`.proto: of the product, or of a stand-in."""
    source = next(folder for folder in (TOP / "proto", _HERE) if (folder / f"{name}.proto").exists())
    run(["protoc", f"--proto_path={source}", f"--python_out={_folder()}", f"{name}.proto"])
    spec = importlib.util.spec_from_file_location(f"{name}_pb2", _folder() / f"{name}_pb2.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tessera-messages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
