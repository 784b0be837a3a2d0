// lint/selector_rules.h: CEL selectors: do they compile where they will be checked, and do they match any device?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/context.h"
#include "lint/node.h"

namespace tessera::lint {

// `list` is a `selectors` field. `driver` is the domain of names that have none.
void CheckSelectors(Context& context, const Node& list, std::string_view driver);

// The live devices that all the expressions match; those that do not compile, or fail on a device, match nothing.
std::vector<const LiveDevice*> Matching(const Context& context, const std::vector<const LiveDevice*>& devices,
                                        const std::vector<std::string>& expressions);

// All live devices.
std::vector<const LiveDevice*> AllDevices(const Context& context);

// Warns about each selector that matches none of `devices`, or fails on some. `what` says which devices these are: "of
// class gpu.nvidia.com".
void CheckOnDevices(Context& context, const Node& list, const std::vector<const LiveDevice*>& devices,
                    std::string_view what);

}  // namespace tessera::lint
