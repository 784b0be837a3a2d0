// api/node_selector.h: NodeSelector of core/v1: which nodes can reach a device.
#pragma once

#include <string>
#include <vector>

namespace tessera::api {

struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"; matchFields knows the first two only.
  std::vector<std::string> values;

  bool operator==(const NodeSelectorRequirement&) const = default;
};

// All requirements must hold. A term without any matches nothing.
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions, match_fields;

  bool operator==(const NodeSelectorTerm&) const = default;
};

struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;  // One must match.

  bool operator==(const NodeSelector&) const = default;
};

// For json/decode.h.
template <class F>
void Describe(F& f, NodeSelectorRequirement& r) {
  f.Required("key", r.key);
  f.Required("operator", r.op);
  f.Optional("values", r.values);
}
template <class F>
void Describe(F& f, NodeSelectorTerm& t) {
  f.Optional("matchExpressions", t.match_expressions);
  f.Optional("matchFields", t.match_fields);
}
template <class F>
void Describe(F& f, NodeSelector& s) {
  f.Required("nodeSelectorTerms", s.terms);
}

}  // namespace tessera::api
