#include "local/machine_offer.h"

#include <algorithm>

#include "base/text.h"
#include "cel/selector_cache.h"
#include "device/slices.h"
#include "driver/hardware.h"
#include "driver/published_devices.h"

namespace tessera::local {
namespace {

std::string UserOf(const api::PreparedClaim& claim) {
  if (claim.run) return Format("tessera run, process {}", claim.run->pid);
  return claim.pods.empty() ? "" : Format("pod {}", Join(claim.pods, ", "));
}

// By hardware and not by name: the plugin's pool may be named otherwise.
void AddHolders(const device::Snapshot& snapshot, const std::vector<journal::ClaimPtr>& prepared,
                std::map<std::string, std::string>& holders) {
  for (const journal::ClaimPtr& claim : prepared) {
    for (const api::PreparedDevice& held : claim->devices) {
      if (held.admin_access) continue;
      for (const device::Device& device : snapshot.devices) {
        if (!api::Overlap(held.hardware, driver::HardwareOf(device))) continue;
        const std::string user = UserOf(*claim);
        holders[device.name] =
            Format("claim {}{}", api::ToText(claim->claim), user.empty() ? "" : Format(" ({})", user));
      }
    }
  }
}

}  // namespace

MachineOffer::MachineOffer(const device::Snapshot& snapshot, Known known, std::string node_name)
    : node_name_(std::move(node_name)),
      slices_(device::MakeSlices(driver::PublishedDevices(snapshot, known.foreign, {}, known.health),
                                 {.node_name = node_name_})),
      holders_(std::move(known.holders)) {
  AddHolders(snapshot, known.prepared, holders_);
  for (std::size_t i = 0; i < slices_.size(); ++i) slices_[i].name = device::SliceNamePrefix(i, node_name_);
}

Result<std::variant<std::vector<api::Allocation>, Refusal>> MachineOffer::Allocate(
    std::span<const alloc::Claim> claims, const alloc::Classes& classes) const {
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  alloc::AllocatedState allocated(rules.gates);
  for (const auto& [device, holder] : holders_) {
    allocated.Add({.request = {}, .driver = std::string(device::kDriverName), .pool = node_name_, .device = device});
  }
  const alloc::Inventory inventory(slices_);
  cel::SelectorCache selectors({.release = rules.release});
  const alloc::Allocator allocator(inventory, allocated, classes, selectors, rules);
  const alloc::Node node{.name = node_name_, .labels = {{"kubernetes.io/hostname", node_name_}}};
  TESSERA_ASSIGN(alloc::Outcome outcome, allocator.Allocate(node, claims));
  if (outcome.allocated) return std::move(outcome.allocations);
  TESSERA_ASSIGN(alloc::Explanation explanation, allocator.Explain(node, claims));
  return Refusal{.reason = std::move(outcome.reason), .explanation = std::move(explanation), .holders = holders_};
}

}  // namespace tessera::local
