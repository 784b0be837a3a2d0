// inspect/explain_nodes.h: why devices do not serve, grouped: nodes that are alike together, devices by reason.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cel/selector_cache.h"
#include "inspect/explain_situation.h"
#include "inspect/explain_together.h"

namespace tessera::inspect {

struct RuledOut {
  std::string device;  // "driver/pool/device".
  std::string seen;    // What is its own in the reason: who holds it, the value it has; may be empty.
};

// Devices of one request that the same thing rules out.
struct Reason {
  std::string kind;               // "held", "selector", "fault", "capacity", "counters", "taint", "attribute", "node".
  std::string text;               // The same for all of them.
  std::vector<RuledOut> devices;  // In the order in which they are tried.
};

struct RequestReport {
  std::string claim, request;   // "default/a", "gpus" or "gpus/large".
  std::string wanted;           // "4" or "all".
  std::size_t usable = 0;       // Devices that nothing rules out by themselves …
  std::size_t devices = 0;      // … of so many.
  bool lacking = false;         // They are too few.
  std::vector<Reason> reasons;  // Those that rule out the most first.
};

// A pool whose devices are not offered.
struct PoolFault {
  std::string driver, pool;
  std::string state;   // "incomplete" or "invalid".
  std::string reason;  // "1 of 2 slices of generation 1 are here".

  bool operator==(const PoolFault&) const = default;
};

struct NodeGroup {
  std::vector<std::string> nodes;  // In their order.
  std::vector<std::string> bars;   // What keeps the pod away, whatever devices they have; the rest is empty then.
  std::vector<PoolFault> pools;    // Of all nodes, each pool once.
  std::vector<RequestReport> requests;
  std::vector<Conflict>
      together;       // Where each request has enough devices: why they do not go together. Of the first node.
  std::string error;  // That stops the scheduler here; the rest is empty then.
};

// Groups with most nodes first; then those without devices; then those that are barred. For a situation in which nothing
// fits.
std::vector<NodeGroup> GroupNodes(const Situation& situation, cel::SelectorCache& selectors);

}  // namespace tessera::inspect
