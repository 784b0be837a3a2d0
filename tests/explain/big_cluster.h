// tests/explain/big_cluster.h: more nodes than anybody writes down, as `kubectl get -o yaml` prints them.
#pragma once

#include <string>

namespace tessera::tests {

// 5,000 GPUs on 625 nodes, with slices and claims. Three kinds of nodes: on most every GPU is held; on a fifth they are of another product; and
// on five a GPU has a taint.
std::string BigCluster();

// 480 GPUs on 60 nodes of twelve kinds: in each kind, others of the first four GPUs have a taint. A GPU's attribute index
// is its number.
std::string MixedCluster();

}  // namespace tessera::tests
