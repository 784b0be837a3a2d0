"""Certificates and kubeconfigs, made anew for each cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.errors import run
from harness.layout import Cluster, NodeSpec
from harness.network import SERVICE_ADDRESS

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")  # RSA takes seconds.


@dataclass(frozen=True)
class Identity:
    """A certificate: its file name, its subject as RBAC reads it, and the names it serves under."""

    file: str
    subject: str
    names: tuple[str, ...] = ()


def identities(cluster: Cluster) -> list[Identity]:
    api_names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = ["127.0.0.1", SERVICE_ADDRESS]
    served = tuple([f"IP:{address}" for address in addresses] + [f"DNS:{name}" for name in api_names])
    return [
        Identity("etcd", "/CN=etcd", ("IP:127.0.0.1", "DNS:localhost")),
        Identity("etcd-client", "/CN=kube-apiserver"),
        Identity("apiserver", "/CN=kube-apiserver", served),
        # The API server calls kubelets as a user of its own: RBAC gives it the kubelet API and nothing else.
        Identity("kubelet-client", "/CN=kube-apiserver-kubelet-client"),
        Identity("front-proxy", "/CN=front-proxy"),
        Identity("admin", "/O=system:masters/CN=admin"),
        Identity("controller-manager", "/CN=system:kube-controller-manager"),
        Identity("scheduler", "/CN=system:kube-scheduler"),
        *(
            Identity(node.name, f"/O=system:nodes/CN=system:node:{node.name}", (f"IP:{node.address}", f"DNS:{node.name}"))
            for node in cluster.nodes
        ),
    ]


def make(cluster: Cluster) -> None:
    cluster.pki.mkdir(mode=0o700)
    ca = ["-keyout", _file(cluster, "ca.key"), "-out", _file(cluster, "ca.crt"), "-subj", "/CN=cluster-ca"]
    run(["openssl", "req", "-x509", *_KEY, "-days", "3650", *ca])
    run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", _file(cluster, "service-account.key")])
    pair = ["-in", _file(cluster, "service-account.key"), "-pubout", "-out", _file(cluster, "service-account.pub")]
    run(["openssl", "ec", *pair])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda numbered: _sign(cluster, *numbered), enumerate(identities(cluster), start=1)))
    write_kubeconfig(cluster, "admin", f"https://127.0.0.1:{cluster.port}", cluster.kubeconfig)
    for user in ("controller-manager", "scheduler"):
        write_kubeconfig(cluster, user, f"https://{SERVICE_ADDRESS}", cluster.pki / f"{user}.kubeconfig")


def write_kubeconfig(cluster: Cluster, user: str, server: str, file: Path) -> None:
    write_kubeconfig_for(server, file, *(_file(cluster, name) for name in ("ca.crt", f"{user}.crt", f"{user}.key")))


def write_kubeconfig_for(server: str, file: Path, ca: str, certificate: str, key: str) -> None:
    """JSON is YAML."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tessera", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "user", "user": {"client-certificate": certificate, "client-key": key}}],
        "contexts": [{"name": "tessera", "context": {"cluster": "tessera", "user": "user"}}],
        "current-context": "tessera",
    }
    file.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    file.chmod(0o600)


def node_files(cluster: Cluster, node: NodeSpec) -> Sequence[tuple[str, str]]:
    """What a node keeps on its disk, and under which name."""
    return [
        (_file(cluster, "ca.crt"), "ca.crt"),
        (_file(cluster, f"{node.name}.crt"), "kubelet.crt"),
        (_file(cluster, f"{node.name}.key"), "kubelet.key"),
    ]


def _sign(cluster: Cluster, serial: int, identity: Identity) -> None:
    request = run(
        ["openssl", "req", *_KEY, "-keyout", _file(cluster, f"{identity.file}.key"), "-subj", identity.subject]
    )
    extensions = cluster.pki / f"{identity.file}.ext"
    extensions.write_text(f"subjectAltName={','.join(identity.names)}\n" if identity.names else "", encoding="ascii")
    argv = ["openssl", "x509", "-req", "-days", "3650", "-set_serial", str(serial)]
    argv += ["-CA", _file(cluster, "ca.crt"), "-CAkey", _file(cluster, "ca.key"), "-extfile", str(extensions)]
    run([*argv, "-out", _file(cluster, f"{identity.file}.crt")], stdin=request)


def _file(cluster: Cluster, name: str) -> str:
    return str(cluster.pki / name)
