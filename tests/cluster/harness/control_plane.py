"""etcd, API server, controller manager and scheduler: how each is started."""

from __future__ import annotations

from collections.abc import Callable

from harness import audit, network, probe
from harness.init import Service
from harness.layout import Cluster

_ETCD = "https://127.0.0.1:2379"


def services(cluster: Cluster) -> list[Service]:
    return [_etcd(cluster), _api_server(cluster), _controller_manager(cluster), _scheduler(cluster)]


def _etcd(cluster: Cluster) -> Service:
    pki = cluster.pki
    argv = [
        str(cluster.runtime / "etcd"),
        f"--data-dir={cluster.dir / 'etcd'}",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        "--listen-peer-urls=https://127.0.0.1:2380",
        f"--cert-file={pki / 'etcd.crt'}",
        f"--key-file={pki / 'etcd.key'}",
        f"--trusted-ca-file={pki / 'ca.crt'}",
        "--client-cert-auth",
        f"--peer-cert-file={pki / 'etcd.crt'}",
        f"--peer-key-file={pki / 'etcd.key'}",
        f"--peer-trusted-ca-file={pki / 'ca.crt'}",
        "--unsafe-no-fsync",  # The cluster does not outlive the machine.
    ]
    return Service("etcd", argv, cluster.log / "etcd.log")


def _api_server(cluster: Cluster) -> Service:
    pki = cluster.pki
    argv = [
        str(cluster.kubernetes / "kube-apiserver"),
        f"--etcd-servers={_ETCD}",
        f"--etcd-cafile={pki / 'ca.crt'}",
        f"--etcd-certfile={pki / 'etcd-client.crt'}",
        f"--etcd-keyfile={pki / 'etcd-client.key'}",
        "--secure-port=443",
        "--bind-address=0.0.0.0",
        f"--advertise-address={network.SERVICE_ADDRESS}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--service-account-key-file={pki / 'service-account.pub'}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={network.SERVICE_SUBNET}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
        "--enable-aggregator-routing=true",  # Webhooks are called at their pods' addresses: there is no kube-proxy.
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'kubelet-client.crt'}",
        f"--kubelet-client-key={pki / 'kubelet-client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki / 'front-proxy.crt'}",
        f"--proxy-client-key-file={pki / 'front-proxy.key'}",
        *audit.flags(cluster),
        *cluster.release.flags(api_server=True),
    ]
    name = "kube-apiserver"
    return Service(name, argv, cluster.log / f"{name}.log", ready_to_start=probe.tcp("127.0.0.1", 2379))


def _controller_manager(cluster: Cluster) -> Service:
    pki = cluster.pki
    argv = [
        str(cluster.kubernetes / "kube-controller-manager"),
        *_as_client(cluster, "controller-manager"),
        f"--service-account-private-key-file={pki / 'service-account.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        "--use-service-account-credentials",
        # Signs no certificate requests: each of its four signers would take one of the user's inotify instances.
    ]
    name = "kube-controller-manager"
    return Service(name, argv, cluster.log / f"{name}.log", ready_to_start=_api_ready(cluster))


def _scheduler(cluster: Cluster) -> Service:
    argv = [str(cluster.kubernetes / "kube-scheduler"), *_as_client(cluster, "scheduler")]
    name = "kube-scheduler"
    return Service(name, argv, cluster.log / f"{name}.log", ready_to_start=_api_ready(cluster))


def _api_ready(cluster: Cluster) -> Callable[[], bool]:
    """Ready, not only listening: before its RBAC rules are there, clients are refused and end."""
    return probe.https(f"https://{network.SERVICE_ADDRESS}/readyz", cluster.pki / "ca.crt")


def _as_client(cluster: Cluster, user: str) -> list[str]:
    config = cluster.pki / f"{user}.kubeconfig"
    kinds = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    flags = [f"--{kind}={config}" for kind in kinds]
    return [*flags, "--leader-elect=false", "--bind-address=127.0.0.1", *cluster.release.flags()]
