// alloc/capacity.h: what a request consumes of a device's capacity, and whether there is enough (KEP-5075).
#pragma once

#include <cstdint>
#include <string>

#include "alloc/allocated_state.h"
#include "alloc/rules.h"
#include "api/claim_spec.h"
#include "api/resource_slice.h"
#include "base/error.h"

namespace tessera::alloc {

// Every capacity of the device, asked for or not: what is not asked for is consumed by default, or whole. An error is the
// scheduler's text; it says that an amount cannot be rounded to the policy's steps, or is negative. Before 1.37 the
// scheduler noticed neither.
Result<Amounts> Consumed(const api::DeviceRequest& request, const api::Device& device, const Rules& rules);

enum class Fit : std::uint8_t {
  kFits,
  kUnknownCapacity,  // The request names a capacity that the device does not have.
  kAgainstPolicy,    // Not a value that the device's policy allows.
  kNotEnough,        // `taken` and `taken_now` leave too little.
  kFault,            // Consumed() fails; see Rules::capacity_faults_are_fatal.
};

// `taken` is what allocated claims consume, `taken_now` what this attempt does; null: nothing.
Fit CheckCapacity(const api::DeviceRequest& request, const api::Device& device, const Amounts* taken,
                  const Amounts* taken_now, const Rules& rules);

// What CheckCapacity() found, with the amounts; for what is neither kFits nor kFault.
std::string DescribeMisfit(const api::DeviceRequest& request, const api::Device& device, const Amounts* taken,
                           const Rules& rules);

}  // namespace tessera::alloc
