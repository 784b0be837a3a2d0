#include "alloc/allocated_state.h"

namespace tessera::alloc {

void AllocatedState::Add(const api::AllocationResult& result) {
  if (result.admin_access) return;
  DeviceUse& use = pools_[{result.driver, result.pool}][result.device];
  if (!gates_.consumable_capacity || !result.share_id) {
    use.exclusive = true;
    return;
  }
  use.shared = true;
  use.counts_capacity = use.counts_capacity || !result.consumed_capacity.empty();
  for (const auto& [name, amount] : result.consumed_capacity) {
    const auto [known, added] = use.consumed.emplace(name, amount);
    if (!added) known->second.Add(amount);
  }
}

const PoolUse* AllocatedState::Find(std::string_view driver, std::string_view pool) const {
  const auto found = pools_.find(std::pair(driver, pool));
  return found == pools_.end() ? nullptr : &found->second;
}

}  // namespace tessera::alloc
