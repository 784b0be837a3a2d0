"""The folder that a failed test leaves has what a person needs."""

from __future__ import annotations

from pathlib import Path

from harness import dump
from harness.kubectl import Kubectl
from harness.lifecycle import Running
from workloads import start_with_gpu


def test_objects_logs_and_state_of_every_part_are_in_it(installed: Running, namespace: Kubectl, tmp_path: Path) -> None:
    node = installed.nodes[0]
    start_with_gpu(installed, namespace, node, "holder")
    folder = tmp_path / "left"
    dump.collect(installed, folder)

    claim = namespace.get("resourceclaim", "holder")["metadata"]["uid"]
    for name in ("objects.yaml", f"{node.name}/plugin-state.txt", f"{node.name}/cdi.txt"):
        assert claim in (folder / name).read_text("utf-8"), name
    assert "holder" in (folder / "pods.txt").read_text("utf-8")
    assert "nvidiaDriverRoot" in (folder / "values.yaml").read_text("utf-8")
    logs = {file.name for file in (folder / "log").rglob("*.log")}
    assert {"kube-apiserver.log", "kube-scheduler.log", "etcd.log"} <= logs
    assert list((folder / node.name / "pods").rglob("*_tessera-kubelet-plugin-*/gpus/*.log"))
    refused = [file for file in folder.rglob("*.txt") if "could not be had" in file.read_text("utf-8", "replace")]
    assert refused == []
