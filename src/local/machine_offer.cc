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
Holder HolderOf(const device::Snapshot& snapshot, const api::PreparedClaim& claim) {
  Holder holder{.claim = api::ToText(claim.claim), .user = UserOf(claim), .devices = {}};
  for (const device::Device& device : snapshot.devices) {
    const auto overlaps = [hardware = driver::HardwareOf(device)](const api::PreparedDevice& held) {
      return !held.admin_access && api::Overlap(held.hardware, hardware);
    };
    if (std::ranges::any_of(claim.devices, overlaps)) holder.devices.push_back(device.name);
  }
  return holder;
}

}  // namespace

MachineOffer::MachineOffer(const device::Snapshot& snapshot, Known known, std::string node_name)
    : node_name_(std::move(node_name)),
      slices_(device::MakeSlices(driver::PublishedDevices(snapshot, known.foreign, {}, known.health),
                                 {.node_name = node_name_})),
      holders_(std::move(known.holders)) {
  for (const journal::ClaimPtr& claim : known.prepared) holders_.push_back(HolderOf(snapshot, *claim));
  for (std::size_t i = 0; i < slices_.size(); ++i) slices_[i].name = device::SliceNamePrefix(i, node_name_);
}

Result<std::variant<std::vector<api::Allocation>, Refusal>> MachineOffer::Allocate(
    std::span<const alloc::Claim> claims, const alloc::Classes& classes) const {
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  alloc::AllocatedState allocated(rules.gates);
  for (const Holder& holder : holders_) {
    for (const std::string& device : holder.devices) {
      allocated.Add({.request = {}, .driver = std::string(device::kDriverName), .pool = node_name_, .device = device});
    }
  }
  const alloc::Inventory inventory(slices_);
  cel::SelectorCache selectors(alloc::SelectorsUnder(rules));
  const alloc::Allocator allocator(inventory, allocated, classes, selectors, rules);
  const alloc::Node node{.name = node_name_, .labels = {{"kubernetes.io/hostname", node_name_}}};
  auto outcome = allocator.Allocate(node, claims);
  if (!outcome && outcome.error().code() == "AllocationUndecided") return std::unexpected(std::move(outcome).error());
  if (outcome && outcome->allocated) return std::move(outcome->allocations);
  return Refusal{.reason = outcome ? std::move(outcome->reason) : "",
                 .node = node,
                 .slices = slices_,
                 .holders = holders_,
                 .rules = rules};
}

}  // namespace tessera::local
