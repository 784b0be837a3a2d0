// alloc/results.h: what the scheduler writes into a claim's status for the devices that were chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "alloc/checks.h"
#include "alloc/node.h"
#include "alloc/search.h"
#include "api/resource_claim.h"
#include "base/error.h"

namespace tessera::alloc {

using NewShareId = std::function<std::string()>;

// One for each claim, in their order. NodeSelectorTerms: a device's node selector has more than one term.
Result<std::vector<api::Allocation>> MakeResults(const Problem& problem, const Search& search, const Node& node,
                                                 const NewShareId& new_share_id);

}  // namespace tessera::alloc
