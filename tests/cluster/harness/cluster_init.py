"""Process 1 of the cluster: makes its network, then runs the control plane and the nodes until it is killed.

Without a listener for the API server there is no control plane: the nodes are machines of their own (workstation.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from harness import control, control_plane, network
from harness.init import Init, Service
from harness.layout import Cluster, NodeSpec, load

NODE_VARIABLE = "TESSERA_CLUSTER_NODE"  # Tells a node's init from others; see processes.py.


def forwarder(cluster: Cluster, handle: int) -> Service:
    argv = [sys.executable, "-m", "harness.forward", str(handle)]
    return Service("forward", argv, cluster.log / "forward.log", keep_fds=[handle])


def node_service(cluster: Cluster, node: NodeSpec) -> Service:
    """A node is a service: stopping it is pulling its plug, starting it again is a boot."""
    boxed = ["unshare", "--pid", "--mount", "--uts", "--ipc", "--fork", "--kill-child"]
    init = [sys.executable, "-m", "harness.node_init", str(cluster.dir), node.name]
    argv = ["nsenter", f"--net={network.namespace_file(cluster, node)}", *boxed, *init]
    return Service(node.name, argv, cluster.log / f"{node.name}.log", {NODE_VARIABLE: node.name})


def main(directory: Path, listeners: Sequence[int]) -> None:
    cluster = load(directory)
    server = control.listen(cluster.dir)
    network.make(cluster)
    services = control_plane.services(cluster) if listeners else []
    services += [forwarder(cluster, handle) for handle in listeners]
    services += [node_service(cluster, node) for node in cluster.nodes]
    Init(services, server).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(handle) for handle in sys.argv[2:]])
