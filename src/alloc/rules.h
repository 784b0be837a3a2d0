// alloc/rules.h: how a release of Kubernetes allocates. What differs between releases has its name here.
#pragma once

#include <array>
#include <string_view>

#include "cel/environment.h"

namespace tessera::alloc {

// The feature gates that change an allocation.
struct Gates {
  bool admin_access = true;
  bool prioritized_list = true;
  bool partitionable_devices = true;
  bool device_taints = true;
  bool consumable_capacity = true;
  bool binding_conditions = true;  // With DRAResourceClaimDeviceStatus.
  bool fractional_capacity_range = false;
  bool list_type_attributes = false;
};

// By the names that Kubernetes has for them.
struct NamedGate {
  std::string_view name;
  bool Gates::* flag;
};
inline constexpr std::array<NamedGate, 8> kNamedGates{
    {{"DRAAdminAccess", &Gates::admin_access},
     {"DRAPrioritizedList", &Gates::prioritized_list},
     {"DRAPartitionableDevices", &Gates::partitionable_devices},
     {"DRADeviceTaints", &Gates::device_taints},
     {"DRAConsumableCapacity", &Gates::consumable_capacity},
     {"DRADeviceBindingConditions", &Gates::binding_conditions},
     {"DRAFractionalCapacityRange", &Gates::fractional_capacity_range},
     {"DRAListTypeAttributes", &Gates::list_type_attributes}}};

// What a release has on when nobody says otherwise.
Gates DefaultGates(cel::Release release);

// The rules of Kubernetes 1.36.4 and 1.37.1 are followed to the letter. 1.34 and 1.35 go through pools in random order;
// ours is one of the answers they may give. Their alpha gates (taints, partitions, shares) are not emulated.
struct Rules {
  cel::Release release = cel::Release::k1_37;
  Gates gates;

  // Counters of slices that are for other nodes only count as slices of this node, too.
  bool pulls_in_counter_slices = false;
  // 1.34: an incomplete pool's devices are used, except by mode All; and a pool counts by its slices for this node alone.
  bool uses_incomplete_pools = false;
  // 1.34: a search that gets to an invalid pool ends the allocation, instead of passing it over.
  bool invalid_pool_is_fatal = false;
  // A device may be looked at again for the next device of the same request: shares of one device add up.
  bool repeats_within_request = false;
  // distinctAttribute keeps one value a request, the last, and forgets it when that device is given up.
  bool distinct_keeps_last_only = false;
  // 1.34: distinctAttribute compares addresses, so all devices that have the attribute are distinct.
  bool distinct_means_present = false;
  // Mode All leaves out devices whose capacity is used up, instead of failing.
  bool all_shrinks = false;
  // A request that cannot be rounded, or a negative capacity, ends the allocation instead of skipping the device.
  bool capacity_faults_are_fatal = true;
  // A share without consumed capacity makes a device's counters count as taken.
  bool any_share_takes_counters = true;
  // A claim's config appears once, and names no requests when it is for all.
  bool merges_configs = true;
  // Too many devices are refused at the request that is one too many, not at the claim.
  bool counts_by_request = true;
  // With neither shares nor binding conditions, as 1.35 is by default, Kubernetes takes an older copy of its allocator,
  // which passes over capacity requests and has never heard of distinctAttribute. Its order of pools is random: it may
  // give other devices.
  bool older_copy = false;
  // A selector's error says on which device, and what to do about a missing key.
  bool errors_name_device = true;
  // Constraints take an attribute for a set of values: matchAttribute wants one in common, distinctAttribute none. 1.36
  // minds the gate in selectors only.
  bool constraints_compare_sets = false;
  // A DeviceTaintRule without a deviceSelector taints every device, as if it had an empty one, and not none.
  bool rule_without_selector_taints_all = false;
};

Rules RulesFor(cel::Release release, const Gates& gates);
inline Rules RulesFor(cel::Release release) { return RulesFor(release, DefaultGates(release)); }

// What the scheduler's selectors may use.
cel::Environment SelectorsUnder(const Rules& rules);

}  // namespace tessera::alloc
