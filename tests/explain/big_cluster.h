// tests/explain/big_cluster.h: 5,000 GPUs on 625 nodes, as `kubectl get -o yaml` prints them.
#pragma once

#include <string>

namespace tessera::tests {

// Nodes, slices and claims. Three kinds of nodes: on most every GPU is held; on a fifth they are of another product; and
// on five a GPU has a taint.
std::string BigCluster();

}  // namespace tessera::tests
