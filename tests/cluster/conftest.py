"""Fixtures of the cluster tests. `make e2e` brings the cluster up; under plain pytest the first test does."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import driver, dump, lifecycle, processes
from harness.errors import ClusterError
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.places import DIRECTORY, PROFILES, SIMULATOR
from harness.releases import find_release

_cluster_in_use = pytest.StashKey[Running]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone: stops parts of the cluster or needs all its GPUs; runs by itself")


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Running]:
    """The one that is up (TESSERA_CLUSTER names its folder), or else one that lives as long as this run of the tests."""
    directory = Path(os.environ.get("TESSERA_CLUSTER", DIRECTORY))
    found = processes.find_init(directory) is not None
    if found:
        running = lifecycle.attach(directory)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        raise ClusterError("workers share a cluster that is already up: run make e2e, or make cluster first")
    else:
        release, profiles = find_release(os.environ.get("K8S", "")), PROFILES.split()
        running = lifecycle.up(directory, release, profiles, SIMULATOR, bound=True)
    request.config.stash[_cluster_in_use] = running
    yield running
    if not found:
        lifecycle.down(directory)


@pytest.fixture
def namespace(cluster: Running) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own. Its pods are gone before the next test starts."""
    kubectl = cluster.kubectl.in_namespace(f"test-{uuid.uuid4().hex[:8]}")
    cluster.kubectl("create", "namespace", kubectl.namespace)
    kubectl.wait_until(("serviceaccount", "default"), bool, "a service account")  # Pods are refused before.
    yield kubectl
    kubectl("delete", "deployments,statefulsets,daemonsets,jobs", "--all", "--wait=false")
    kubectl("delete", "pods", "--all", "--grace-period=1", "--timeout=60s")
    cluster.kubectl("delete", "namespace", kubectl.namespace, "--wait=false")


@pytest.fixture(scope="session")
def installed(cluster: Running) -> Running:
    """The cluster with the driver, through its image and its chart."""
    driver.install(cluster)
    return cluster


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """On failure, before fixtures clean up: everything into one folder, and say where."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    running = item.config.stash.get(_cluster_in_use, None)
    if report.failed and running is not None:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{item.name}-{report.when}")
        folder = running.cluster.dir / "failures" / name
        dump.collect(running, folder)
        report.sections.append(("left for you", f"objects, events, logs of every component: {folder}"))
