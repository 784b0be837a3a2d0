// alloc/matcher.h: which devices the selectors of a request take. Each device is asked once a request, and only when
// somebody wants to know: an expression that fails on a device nobody looks at does no harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/node.h"
#include "alloc/pools.h"
#include "alloc/rules.h"
#include "api/claim_spec.h"
#include "base/error.h"
#include "cel/selector_cache.h"

namespace tessera::alloc {

enum class Match : std::uint8_t { kUnknown, kNo, kYes, kFault };

class Matcher {
 public:
  Matcher(const PoolSet& pools, const Node& node, const Rules& rules, cel::SelectorCache& selectors)
      : pools_(pools), node_(node), rules_(rules), selectors_(selectors) {}

  // The selectors of the next option. What it is given must outlive it.
  void AddOption(const api::DeviceClass& device_class, const api::DeviceRequest& request, const api::ClaimRef& claim);

  // Class selectors come first, then the request's, then whether the node reaches the device.
  Match Ask(std::size_t option, std::uint32_t device) {
    Match& known = known_[option][device];
    if (known == Match::kUnknown) known = Evaluate(option, device);
    return known;
  }

  // What the scheduler says where Ask() answered kFault.
  Error FaultOf(std::size_t option, std::uint32_t device) const;

  // The first selector that is false for a device, "class gpu.nvidia.com: selector #0" with its text; or that the node
  // does not reach it. For explanations: evaluates again.
  std::string WhyNot(std::size_t option, std::uint32_t device) const;

 private:
  struct Step {
    Result<cel::DeviceSelector> selector;
    const api::DeviceClass* device_class = nullptr;  // Whose it is …
    const api::ClaimRef* claim = nullptr;            // … one of the two.
    std::size_t number = 0;
    std::string_view text;

    std::string Owner() const;  // "class K" or "claim N/C".
  };

  void AddSteps(std::vector<Step>& steps, const std::vector<api::Selector>& selectors,
                const api::DeviceClass* device_class, const api::ClaimRef* claim);
  Match Evaluate(std::size_t option, std::uint32_t device) const;
  Result<bool> Reached(const Candidate& candidate) const;
  Error Fault(const Step& step, const Candidate& candidate, const Error& error) const;

  const PoolSet& pools_;
  const Node& node_;
  const Rules& rules_;
  cel::SelectorCache& selectors_;
  std::vector<std::vector<Step>> steps_;   // By option.
  std::vector<std::vector<Match>> known_;  // By option and device.
};

}  // namespace tessera::alloc
