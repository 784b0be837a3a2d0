// alloc/device_filter.h: the selectors of one way to satisfy a request, compiled, and which devices they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/node.h"
#include "alloc/pools.h"
#include "alloc/rules.h"
#include "api/claim_spec.h"
#include "api/prepared_claim.h"
#include "base/error.h"
#include "cel/selector_cache.h"

namespace tessera::alloc {

enum class Match : std::uint8_t { kUnknown, kNo, kYes, kFault };

// Class selectors come first, then the request's, then whether the node reaches the device. Knows no node of its own, so
// it is made once for all. Safe from any thread.
class DeviceFilter {
 public:
  // Views into the class, the request and the claim, which must outlive it.
  DeviceFilter(const api::DeviceClass& device_class, const api::DeviceRequest& request, const api::ClaimRef& claim,
               cel::SelectorCache& selectors);

  Match Ask(const Candidate& candidate, const Node& node, const Rules& rules) const;

  // What the scheduler says where Ask() answers kFault.
  Error FaultOf(const Candidate& candidate, const Node& node, const Rules& rules) const;

  // The first selector that is false for a device, "class gpu.nvidia.com: selector #0" with its text; or that the node
  // does not reach it.
  std::string WhyNot(const Candidate& candidate, const Node& node, const Rules& rules) const;

 private:
  struct Step {
    Result<cel::DeviceSelector> selector;
    const api::DeviceClass* device_class = nullptr;  // Whose it is …
    const api::ClaimRef* claim = nullptr;            // … one of the two.
    std::size_t number = 0;
    std::string_view text;

    std::string Owner() const;  // "class K" or "claim N/C".
  };

  void AddSteps(const std::vector<api::Selector>& expressions, cel::SelectorCache& selectors,
                const api::DeviceClass* device_class, const api::ClaimRef* claim);
  static Error Fault(const Step& step, const Candidate& candidate, const Rules& rules, const Error& error);

  std::vector<Step> steps_;
};

}  // namespace tessera::alloc
