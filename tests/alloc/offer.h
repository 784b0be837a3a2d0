// tests/alloc/offer.h: what a node has to offer, worked out for the checker: straight from the API's words, slowly, and
// with nothing of src/alloc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/alloc/problem.h"

namespace tessera::tests {

// What the generators use of it: In and NotIn.
bool Selects(const api::NodeSelector& selector, const alloc::Node& node);

// Whether the node can use this device of this slice.
bool Reaches(const api::ResourceSlice& slice, const api::Device& device, const alloc::Node& node);

enum class PoolFault { kNone, kOldGeneration, kIncomplete };
// Of the pool that the slice belongs to, as the node sees it: by slices that it reaches there is a newer generation, or
// not all slices of this one are there.
PoolFault PoolFaultOf(const AllocationProblem& problem, const api::ResourceSlice& slice);

// How much of a capacity the request takes: the least that the policy allows and that is enough. Nothing when the device
// has no such amount.
std::optional<Quantity> AmountFor(const api::DeviceRequest& request, const api::Device& device,
                                  const std::string& capacity);

// Whether the device, while nobody uses it, has every amount.
bool HasAmounts(const api::DeviceRequest& request, const api::Device& device);

}  // namespace tessera::tests
