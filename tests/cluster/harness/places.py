"""Where things are in the source tree, and what a cluster is unless somebody says otherwise."""

from __future__ import annotations

from pathlib import Path

TOP = Path(__file__).parents[3]
DIRECTORY = TOP / "build" / "cluster"
E2E = TOP / "build" / "e2e"  # Clusters of the tests: a folder for each release, in it one for each worker.
DAEMONS = TOP / "build" / "daemons"  # The machine of tests/daemons.
BENCH = TOP / "build" / "bench" / "cluster"
PROGRAMS = TOP / "build" / "bin"
SIMULATOR = PROGRAMS / "tessera-sim"
CHART = TOP / "deploy" / "helm" / "tessera"
IMAGES = TOP / "build" / "image"
PROFILES = "dgx-h100 dgx-a100-mig"
DRIVER_NAMESPACE = "tessera"
