// tests/alloc/machines.h: the simulator's machines as drivers publish them.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "sim/machine.h"

namespace tessera::tests {

// One of sim/profiles.
struct PublishedMachine {
  std::string profile;
  json::Object spec;  // Of its ResourceSlice in tests/testdata/slices, which a test of the inventory keeps true.
};
const std::vector<PublishedMachine>& PublishedMachines();

// The boards of sim/models that can be cut into MIG instances have `mig`. Null for a product that there is no model of.
const sim::Model* FindModel(std::string_view product);

// The board as a pool that the scheduler cuts: its counters, and the device `gpu`, as published, taking all of them.
json::Object CounterSet(const sim::Model& model, std::string_view name);
json::Object WholeGpu(const sim::Model& model, const json::Object& gpu, std::string_view counter_set);
// An instance of the profile at one of its placements on that device.
json::Object MigPlacement(const sim::Model& model, const sim::MigProfile& profile, unsigned start,
                          const json::Object& gpu, std::string_view counter_set);

}  // namespace tessera::tests
