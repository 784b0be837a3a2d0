// inspect/explain_cluster.h: what an explanation needs of a cluster, read page by page, with bounds.
#pragma once

#include "base/error.h"
#include "inspect/explain_proof.h"
#include "inspect/explain_subject.h"
#include "kube/client.h"
#include "manifests/objects.h"

namespace tessera::inspect {

struct ClusterState {
  manifests::Objects objects;
  ClusterFacts facts;  // With the gaps: what we may not read.
};

// An error means that there is no cluster to ask, or no such API. What is forbidden, or more than 50,000 objects of a
// kind, is a gap.
Result<ClusterState> ReadCluster(kube::Client& client, const Target& target);

}  // namespace tessera::inspect
