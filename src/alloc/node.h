// alloc/node.h: the node that claims are allocated on, and which slices and devices it can reach.
#pragma once

#include <map>
#include <string>

#include "api/node_selector.h"
#include "api/resource_slice.h"
#include "base/error.h"

namespace tessera::alloc {

struct Node {
  std::string name;
  std::map<std::string, std::string> labels;
};

// BadNodeSelector when a requirement makes no sense, whether or not it decides.
Result<bool> Matches(const api::NodeSelector& selector, const Node& node);

// False when nothing is set: some later release's way to say it.
Result<bool> Reaches(const api::Reach& reach, const Node& node);

}  // namespace tessera::alloc
