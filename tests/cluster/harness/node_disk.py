"""What is on a node's disk before it boots: its /etc, with the configuration of containerd, CNI and the kubelet."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

import yaml

from harness import cgroups, gpus, network, pki
from harness.errors import run
from harness.layout import Cluster, NodeSpec

CONTAINERD_SOCKET = Path("/run/containerd/containerd.sock")
LOG = Path("/var/log/cluster")
PROGRAMS = Path("/opt/cluster")  # Where the node finds the cluster's programs.
SANDBOX_IMAGE = "localhost/tessera-pause:1"
_KUBERNETES = Path("/etc/kubernetes")


def make(cluster: Cluster, node: NodeSpec) -> None:
    make_without_kubelet(cluster, node)
    disk = cluster.node_dir(node)
    for folder in ("etc/cni/net.d", "etc/kubernetes"):
        (disk / folder).mkdir(parents=True)
    (disk / "etc/cni/net.d/10-pods.conflist").write_text(json.dumps(cni_config(node), indent=2), encoding="utf-8")
    _write_kubelet(cluster, node, disk / "etc/kubernetes")


def make_without_kubelet(cluster: Cluster, node: NodeSpec) -> None:
    """A machine that has containerd and is in no cluster."""
    disk = cluster.node_dir(node)
    cluster.node_log(node).mkdir()
    for folder in ("etc/cdi", "etc/containerd", "var/lib", "var/log", "root"):
        (disk / folder).mkdir(parents=True)
    (disk / "var/run").symlink_to("/run")
    _write_identity(disk / "etc", node)
    (disk / "etc/containerd/config.toml").write_text(containerd_config(snapshotter(disk)), encoding="utf-8")


def containerd_config(stored_by: str) -> str:
    """Defaults but for what this machine may not do, the local sandbox image, and the simulator's state (base spec)."""
    cri = 'plugins."io.containerd.cri.v1'
    return f"""version = 3
[grpc]
  address = "{CONTAINERD_SOCKET}"
[{cri}.images"]
  snapshotter = "{stored_by}"
[{cri}.images".pinned_images]
  sandbox = "{SANDBOX_IMAGE}"
[{cri}.runtime"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  # Lowering a score needs CAP_SYS_RESOURCE, which a container that runs these tests may lack.
  restrict_oom_score_adj = true
[{cri}.runtime".cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "/etc/cni/net.d"
[{cri}.runtime".containerd]
  default_runtime_name = "runc"
[{cri}.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "/etc/containerd/base-spec.json"
[{cri}.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def base_spec(default: str) -> str:
    """containerd's default container, plus the simulator's state: what the kernel module is to a real container."""
    spec = json.loads(default)
    source = str(gpus.DRIVER_ROOT / gpus.STATE)
    mount = {"destination": f"/{gpus.STATE}", "type": "bind", "source": source, "options": ["rbind", "ro"]}
    spec["mounts"].append(mount)
    return json.dumps(spec, indent=2)


def cni_config(node: NodeSpec) -> dict[str, object]:
    ipam = {
        "type": "host-local",
        "dataDir": "/run/cni",  # Leases end with a boot.
        "ranges": [[{"subnet": node.pod_subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "ipam": ipam}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, {"type": "loopback"}]}


def kubelet_config(cluster: Cluster, node: NodeSpec) -> dict[str, object]:
    gates = dict(gate.split("=") for gate in cluster.release.feature_gates)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(_KUBERNETES / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups.node_root(cluster, node),
        "clusterDNS": [network.DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        # The disk is the machine's: how full it is says nothing about the cluster.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "failCgroupV1": False,
        "failSwapOn": False,
        "featureGates": {name: value == "true" for name, value in gates.items()},
        "tlsCertFile": str(_KUBERNETES / "kubelet.crt"),
        "tlsPrivateKeyFile": str(_KUBERNETES / "kubelet.key"),
    }


def _write_identity(etc: Path, node: NodeSpec) -> None:
    files = {
        "hostname": node.name,
        "hosts": f"127.0.0.1 localhost\n{node.address} {node.name}",
        "machine-id": uuid.uuid4().hex,
        "resolv.conf": "# The cluster has no name server.",
        "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
        "group": "root:x:0:\nnogroup:x:65534:",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files",
    }
    for name, text in files.items():
        (etc / name).write_text(text + "\n", encoding="ascii")
    for name in ("ld.so.cache", "os-release"):  # Libraries outside the usual folders; what the node says it runs.
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), etc / name)


def _write_kubelet(cluster: Cluster, node: NodeSpec, folder: Path) -> None:
    for source, name in pki.node_files(cluster, node):
        shutil.copy(source, folder / name)
    inside = [str(_KUBERNETES / name) for name in ("ca.crt", "kubelet.crt", "kubelet.key")]
    pki.write_kubeconfig_for(f"https://{network.SERVICE_ADDRESS}", folder / "kubeconfig", *inside)
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(kubelet_config(cluster, node)), encoding="utf-8")


def snapshotter(disk: Path) -> str:
    """An overlay cannot hold the upper folders of another."""
    return "native" if run(["stat", "--file-system", "--format=%T", disk]).strip() == "overlayfs" else "overlayfs"
