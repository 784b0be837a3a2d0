#include "alloc/rules.h"

namespace tessera::alloc {

Gates DefaultGates(cel::Release release) {
  Gates gates;
  if (release < cel::Release::k1_36) {
    gates.partitionable_devices = gates.device_taints = gates.consumable_capacity = gates.binding_conditions = false;
  }
  return gates;
}

Rules RulesFor(cel::Release release, const Gates& gates) {
  const bool before_1_37 = release < cel::Release::k1_37;
  const bool before_1_36 = release < cel::Release::k1_36;
  const bool compares_sets = !before_1_37 && gates.list_type_attributes;
  const bool needs_newer_copy =
      gates.consumable_capacity || gates.binding_conditions || gates.fractional_capacity_range || compares_sets;
  return {.release = release,
          .gates = gates,
          .pulls_in_counter_slices = before_1_37,
          .uses_incomplete_pools = release == cel::Release::k1_34,
          .invalid_pool_is_fatal = release == cel::Release::k1_34,
          .repeats_within_request = before_1_36,
          .distinct_keeps_last_only = before_1_37,
          .distinct_means_present = release == cel::Release::k1_34,
          .all_shrinks = before_1_37,
          .capacity_faults_are_fatal = !before_1_37,
          .any_share_takes_counters = !before_1_37,
          .merges_configs = !before_1_37,
          .counts_by_request = !before_1_37,
          .older_copy = release != cel::Release::k1_34 && !needs_newer_copy,
          .errors_name_device = !before_1_37,
          .constraints_compare_sets = compares_sets,
          .rule_without_selector_taints_all = before_1_37};
}

cel::Environment SelectorsUnder(const Rules& rules) {
  return {.release = rules.release,
          .use = cel::Use::kStoredExpression,
          .consumable_capacity_gate = rules.gates.consumable_capacity,
          .list_type_attributes_gate = rules.gates.list_type_attributes};
}

}  // namespace tessera::alloc
