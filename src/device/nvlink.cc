#include "device/nvlink.h"

#include <array>
#include <map>
#include <numeric>

#include "base/text.h"
#include "nvml/abi.h"

namespace tessera::device {
namespace {

constexpr unsigned kFabricCompleted = 3;

// Disjoint sets with path halving: small, and the order of joining does not show.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t Find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(std::size_t a, std::size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<std::size_t> parent_;
};

// A GPU that belongs to a fabric reaches nobody before Fabric Manager has registered it.
bool FabricAllows(const nvml::GpuFacts& gpu) {
  constexpr unsigned kNotSupported = 0;
  if (!gpu.fabric || gpu.fabric->state == kNotSupported) return true;
  return gpu.fabric->state == kFabricCompleted && gpu.fabric->status == nvml::abi::kSuccess;
}

bool UsesNvLink(const nvml::GpuFacts& gpu) {
  if (gpu.mig_enabled == true || !FabricAllows(gpu)) return false;
  for (const nvml::NvLinkFacts& link : gpu.links) {
    if (link.active) return true;
  }
  return false;
}

// "<cluster uuid>.<clique>" for a GPU that joined a fabric beyond its machine, else empty.
std::string FabricIsland(const nvml::GpuFacts& gpu) {
  if (!gpu.fabric || gpu.fabric->state != kFabricCompleted) return {};
  // A zero UUID: NVLink inside the machine only.
  if (gpu.fabric->cluster_uuid.find_first_not_of("0-") == std::string::npos) return {};
  return Format("{}.{}", gpu.fabric->cluster_uuid, gpu.fabric->clique_id);
}

}  // namespace

std::vector<std::string> NvLinkIslands(const std::vector<nvml::GpuFacts>& gpus) {
  std::map<std::string, std::size_t> by_bus_id;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].bus_id.empty()) by_bus_id.emplace(gpus[i].bus_id, i);
  }
  // Through a switch everything reaches everything. Switches of one machine are one plane, whatever address a driver
  // gives for them (Hopper and later give none).
  std::optional<std::size_t> on_switch;
  Sets sets(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!UsesNvLink(gpus[i])) continue;
    for (const nvml::NvLinkFacts& link : gpus[i].links) {
      if (!link.active) continue;
      if (link.remote_type == nvml::abi::kRemoteSwitch) {
        if (on_switch) sets.Join(i, *on_switch);
        on_switch = i;
      } else if (const auto peer = by_bus_id.find(link.remote_bus_id);
                 peer != by_bus_id.end() && UsesNvLink(gpus[peer->second])) {
        sets.Join(i, peer->second);
      }
    }
  }
  std::map<std::size_t, std::string> lowest;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!UsesNvLink(gpus[i]) || gpus[i].uuid.empty()) continue;
    std::string& name = lowest[sets.Find(i)];
    if (name.empty() || gpus[i].uuid < name) name = gpus[i].uuid;
  }
  std::vector<std::string> islands(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!UsesNvLink(gpus[i])) continue;
    islands[i] = FabricIsland(gpus[i]);
    if (islands[i].empty()) islands[i] = lowest[sets.Find(i)];
  }
  return islands;
}

std::string NvLinkVersion(unsigned nvml_version) {
  constexpr std::array<std::string_view, 9> kVersions{"",      "1.0.0", "2.0.0", "2.2.0", "3.0.0",
                                                      "3.1.0", "4.0.0", "5.0.0", "6.0.0"};
  return nvml_version < kVersions.size() ? std::string(kVersions[nvml_version]) : std::string();
}

}  // namespace tessera::device
