#include "tests/alloc/machines.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "sim/mig.h"
#include "sim/profile.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

// Sorted: a seed must mean the same machine everywhere.
std::vector<PublishedMachine> ReadMachines() {
  std::vector<PublishedMachine> machines;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/testdata/slices")) {
    const auto documents = json::ParseYaml(ReadFile(entry.path()).value()).value();
    machines.push_back({.profile = entry.path().stem(), .spec = documents.at(0).at("spec").as_object()});
  }
  std::ranges::sort(machines, {}, &PublishedMachine::profile);
  return machines;
}

std::map<std::string, sim::Model, std::less<>> ReadModels() {
  const std::filesystem::path data = TESSERA_SOURCE_DIR "/sim";
  std::map<std::string, sim::Model, std::less<>> models;
  const std::vector<std::string> names = sim::ListModels(data).value();
  for (const std::string& name : names) {
    sim::Model model = sim::LoadModel(data, name).value();
    models.emplace(model.name, model);
  }
  return models;
}

json::Object Amount(std::uint64_t amount) { return {{"value", std::to_string(amount)}}; }

// Named as the capacities of a MIG device.
json::Object Engines(const sim::MigProfile& profile) {
  return {{"multiprocessors", Amount(profile.multiprocessors)},
          {"copyEngines", Amount(profile.copy_engines)},
          {"decoders", Amount(profile.decoders)},
          {"encoders", Amount(profile.encoders)},
          {"jpegEngines", Amount(profile.jpegs)},
          {"ofaEngines", Amount(profile.ofas)}};
}

json::Object Taken(const sim::MigProfile& profile, unsigned start) {
  json::Object taken = Engines(profile);
  for (unsigned slice = start; slice < start + profile.size; ++slice) {
    taken[Format("memorySlice{}", slice)] = Amount(1);
  }
  return taken;
}

// The profile that leaves nothing.
const sim::MigProfile& Largest(const sim::Model& model) {
  return *std::ranges::max_element(model.mig, {}, &sim::MigProfile::slices);
}

void Consume(json::Object& device, std::string_view counter_set, json::Object counters) {
  device["consumesCounters"] =
      json::Array{json::Object{{"counterSet", counter_set}, {"counters", std::move(counters)}}};
}

}  // namespace

const std::vector<PublishedMachine>& PublishedMachines() {
  static const std::vector<PublishedMachine> machines = ReadMachines();
  return machines;
}

const sim::Model* FindModel(std::string_view product) {
  static const auto models = ReadModels();
  const auto found = models.find(product);
  return found == models.end() ? nullptr : &found->second;
}

json::Object CounterSet(const sim::Model& model, std::string_view name) {
  return {{"name", name}, {"counters", Taken(Largest(model), 0)}};
}

json::Object WholeGpu(const sim::Model& model, const json::Object& gpu, std::string_view counter_set) {
  json::Object device = gpu;
  Consume(device, counter_set, Taken(Largest(model), 0));
  return device;
}

json::Object MigPlacement(const sim::Model& model, const sim::MigProfile& profile, unsigned start,
                          const json::Object& gpu, std::string_view counter_set) {
  json::Object attributes = gpu.at("attributes").as_object();
  attributes["parentUUID"] = std::exchange(attributes["uuid"], json::Value());
  attributes.erase("uuid");
  attributes["type"] = json::Object{{"string", "mig"}};
  attributes["profile"] = json::Object{{"string", sim::ProfileName(model, profile)}};
  json::Object capacity = Taken(profile, start);
  capacity["memory"] = json::Object{{"value", Format("{}Mi", profile.memory_mb)}};
  json::Object device{{"name", Format("{}-mig-{}-{}", std::string_view(gpu.at("name").as_string()), profile.id, start)},
                      {"attributes", std::move(attributes)},
                      {"capacity", std::move(capacity)}};
  Consume(device, counter_set, Taken(profile, start));
  return device;
}

}  // namespace tessera::tests
