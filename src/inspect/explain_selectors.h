// inspect/explain_selectors.h: which part of which selector is false for a device, and what the device has instead.
#pragma once

#include <string>

#include "api/claim_spec.h"
#include "cel/device_facts.h"
#include "cel/selector_cache.h"

namespace tessera::inspect {

struct FalsePart {
  std::string owner;  // "class gpu.nvidia.com selector 0" or "the request's selector 0"; empty: none is false or fails.
  std::string part;   // The sub-expression; empty when the selector does not compile.
  std::string fault;  // Why it fails, in Kubernetes' words; empty: it is false.
  std::string found;  // What the device has: `type is "mig"`; empty when the part names no attribute.
};

// The first selector that is false or fails, class before request, and its first part that is or does.
FalsePart FindFalsePart(const api::DeviceClass& device_class, const api::DeviceRequest& request,
                        const cel::DeviceFacts& facts, cel::SelectorCache& selectors);

}  // namespace tessera::inspect
