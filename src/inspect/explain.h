// inspect/explain.h: why a claim or a pod gets no devices, and what would have to change. Start here.
//
// Three steps, each of which can be called alone. The analysis and the view need no cluster, no file and no clock:
//
//   TESSERA_ASSIGN(inspect::ClusterState state, inspect::ReadCluster(client, target));  // explain_cluster.h
//   TESSERA_ASSIGN(const auto explanation, inspect::Explain(state.objects, target, state.facts));
//   std::fputs(inspect::ToText(explanation).c_str(), stdout);                            // explain_view.h
//
// Who has claims and slices in memory, as `tessera run` does, asks ExplainRefusal().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "inspect/explain_changes.h"
#include "inspect/explain_nodes.h"
#include "inspect/explain_proof.h"
#include "inspect/explain_situation.h"
#include "inspect/explain_spelling.h"
#include "inspect/explain_subject.h"
#include "manifests/objects.h"

namespace tessera::inspect {

// What somebody last said about preparing the devices: an Event, or a condition in status.devices.
struct PrepareNews {
  std::string about;  // "pod default/a", "claim default/a".
  std::string who;    // "kubelet on node-a", "gpu.nvidia.com".
  std::string when;   // RFC 3339; empty for conditions.
  std::int64_t count = 1;
  std::string text;  // "FailedPrepareDynamicResources: …", "gpu-0 Ready=False: …".
};

struct Placement {
  std::string claim, request, driver, pool, device;
};

struct Explanation {
  Target target;
  ClusterFacts cluster;
  Proof proof;
  std::vector<ClaimProgress> claims;
  std::size_t nodes = 0;  // On which the pod may run, as far as labels and taints decide.
  bool fits = false;
  std::string node;  // Where, and with which devices, when something was to be allocated.
  std::vector<Placement> devices;
  std::string scheduler_says;             // The message of the pod's PodScheduled condition.
  std::string stopped_by;                 // The error that stops the scheduler, wherever it looks; empty: none …
  std::string stopped_advice;             // … and what to do about it, where that is known.
  std::vector<Misspelling> misspellings;  // When it does not fit: names in selectors that no device has.
  std::vector<NodeGroup> groups;          // When it does not fit.
  Remedies remedies;
  std::vector<PrepareNews> news;  // The latest first.
  std::vector<std::string> notes;
};

// NoSuchObject when the target is not among the objects. Pure: the same objects give the same answer.
Result<Explanation> Explain(const manifests::Objects& objects, const Target& target, const ClusterFacts& cluster);

// Why nothing fits in a situation, and what would: the parts of an explanation for which ReasonsToText() is made.
Explanation ExplainRefusal(const Situation& situation);

}  // namespace tessera::inspect
