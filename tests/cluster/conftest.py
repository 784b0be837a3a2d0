"""Fixtures of the cluster tests. The first test that needs a cluster brings it up."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from harness import driver, dump, lifecycle, processes
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from harness.places import DIRECTORY, E2E, PROFILES, SIMULATOR
from harness.releases import find_release

_cluster_in_use = pytest.StashKey[Running]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes up to minutes; starts before the others")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long ones first: no worker is still busy with one when the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Running]:
    """The one that `make cluster` left up, or one that lives as long as this run; each worker has one of its own."""
    release, worker = find_release(os.environ.get("K8S", "")), os.environ.get("PYTEST_XDIST_WORKER")
    directory = E2E / release.minor / worker if worker else DIRECTORY
    found = worker is None and processes.find_init(directory) is not None
    if found:
        running = lifecycle.attach(directory)
    else:
        running = lifecycle.up(directory, release, PROFILES.split(), SIMULATOR, bound=True)
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
