"""More is wanted than there is: claims wait, and no device is used twice at once."""

from __future__ import annotations

import pytest

from gpu_view import devices_on, look
from harness.kubectl import Kubectl, Object
from harness.lifecycle import Running
from manifests import claim, claim_template, pod

pytestmark = pytest.mark.long
PODS = 24
# Takes its GPU's name as a lock on the node: making a folder that is there fails.
USE_ALONE = """
uuid=$(nvidia-smi -L | grep -o 'GPU-[0-9a-f-]*') && mkdir /used/$uuid || exit 1
sleep 1
rmdir /used/$uuid
"""


def test_a_claim_that_cannot_be_met_waits_until_a_gpu_is_free(installed: Running, namespace: Kubectl) -> None:
    release, node = installed.cluster.release, installed.nodes[0].name
    everything = len(devices_on(installed, node))
    namespace.apply([claim(release, "all", count=everything), pod("greedy", node=node, claims={"gpu": "all"})])
    namespace.wait_for_pod("greedy")
    namespace.apply([claim(release, "one"), pod("patient", node=node, claims={"gpu": "one"})])
    namespace.wait_until(("pod", "patient"), is_unschedulable, "it waits")
    namespace.delete("pod", "greedy")
    namespace.wait_for_pod("patient")
    assert len(look(namespace, "patient").products) == 1


def test_no_gpu_is_used_twice_at_once(installed: Running, namespace: Kubectl) -> None:
    node = installed.nodes[0].name
    folder = {"name": "used", "hostPath": {"path": f"/tmp/{namespace.namespace}", "type": "DirectoryOrCreate"}}
    user = pod("user", command=["sh", "-c", USE_ALONE], node=node, templates={"gpu": "each"}, volumes=[folder])
    user["spec"]["containers"][0]["volumeMounts"] = [{"name": "used", "mountPath": "/used"}]
    spec = {"parallelism": PODS, "completions": PODS, "backoffLimit": 0, "template": {"spec": user["spec"]}}
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "churn"}, "spec": spec}
    namespace.apply([claim_template(installed.cluster.release, "each"), job])
    done = namespace.wait_until(("job", "churn"), is_over, "the job ends", 300)
    assert done["status"].get("succeeded") == PODS, done["status"]
    assert installed.nodes[0].run("ls", f"/tmp/{namespace.namespace}") == ""


def is_unschedulable(found: Object) -> bool:
    return any(each.get("reason") == "Unschedulable" for each in found["status"].get("conditions", []))


def is_over(job: Object) -> bool:
    return any(each["type"] in ("Complete", "Failed") for each in job.get("status", {}).get("conditions", []))
