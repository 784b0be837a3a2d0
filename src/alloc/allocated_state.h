// alloc/allocated_state.h: which devices allocated claims hold, and how much of those that are shared.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "alloc/pool_id.h"
#include "alloc/rules.h"
#include "api/resource_claim.h"
#include "base/quantity.h"

namespace tessera::alloc {

using Amounts = std::map<std::string, Quantity>;

struct DeviceUse {
  bool exclusive = false;
  bool shared = false;           // At least one share is held.
  bool counts_capacity = false;  // At least one share says what it consumes.
  Amounts consumed;              // By all shares together.
};

// Devices of one pool, by name.
using PoolUse = NameTable<DeviceUse>;

class AllocatedState {
 public:
  explicit AllocatedState(const Gates& gates) : gates_(gates) {}

  // Admin access holds nothing.
  void Add(const api::AllocationResult& result);

  // Null when nothing of the pool is held.
  const PoolUse* Find(std::string_view driver, std::string_view pool) const;

 private:
  Gates gates_;
  PoolTable<PoolUse> pools_;
};

}  // namespace tessera::alloc
