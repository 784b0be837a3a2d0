// alloc/matcher.h: which devices of a node the selectors of a plan take. Each device is asked once an option, and only
// when somebody wants to know: an expression that fails on a device nobody looks at does no harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/device_filter.h"
#include "alloc/node.h"
#include "alloc/plan.h"
#include "alloc/pools.h"
#include "alloc/rules.h"
#include "base/error.h"

namespace tessera::alloc {

// What it is given must outlive it.
class Matcher {
 public:
  Matcher(const PoolSet& pools, const Node& node, const Rules& rules, const Plan& plan)
      : pools_(pools), node_(node), rules_(rules), plan_(plan) {}

  Match Ask(std::size_t option, std::uint32_t device) {
    if (known_.empty()) known_.resize(plan_.options.size());
    if (known_[option].empty()) known_[option].resize(pools_.devices.size(), Match::kUnknown);
    Match& known = known_[option][device];
    if (known == Match::kUnknown) known = FilterOf(option).Ask(pools_.devices[device], node_, rules_);
    return known;
  }

  // What the scheduler says where Ask() answered kFault.
  Error FaultOf(std::size_t option, std::uint32_t device) const {
    return FilterOf(option).FaultOf(pools_.devices[device], node_, rules_);
  }

  // Why Ask() answered kNo. For explanations: evaluates again.
  std::string WhyNot(std::size_t option, std::uint32_t device) const {
    return FilterOf(option).WhyNot(pools_.devices[device], node_, rules_);
  }

 private:
  const DeviceFilter& FilterOf(std::size_t option) const { return plan_.options[option].filter; }

  const PoolSet& pools_;
  const Node& node_;
  const Rules& rules_;
  const Plan& plan_;
  std::vector<std::vector<Match>> known_;  // By option and device; empty until somebody asks.
};

}  // namespace tessera::alloc
