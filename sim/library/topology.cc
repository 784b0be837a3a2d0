#include "sim/library/topology.h"

#include <algorithm>

#include "base/text.h"
#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

constexpr unsigned kMaxCpu = 1U << 20U;

// "0-31,64-95" as numbers. Parts that make no sense are left out.
std::vector<unsigned> ParseCpus(std::string_view list) {
  std::vector<unsigned> cpus;
  for (const std::string_view part : Split(list, ',')) {
    const auto range = Cut(part, "-");
    const auto first = ParseNumber<unsigned>(Trim(range ? range->first : part));
    const auto last = range ? ParseNumber<unsigned>(Trim(range->second)) : first;
    if (!first || !last || *last > kMaxCpu) continue;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

bool IsNear(const NumaNode& node, const Gpu& gpu) { return gpu.numa_node < 0 || node.id == gpu.numa_node; }

bool Connects(const NvLink& link, const Gpu& a, const Gpu& b) {
  if (!link.up) return false;
  if (link.remote_type == kRemoteGpu) return link.remote_bus_id == b.bus_id;
  return &a == &b || std::ranges::any_of(b.links, [&](const NvLink& other) {
    return other.up && other.remote_type == link.remote_type && other.remote_bus_id == link.remote_bus_id;
  });
}

// nvmlGpuP2PCapsIndex_t and nvmlGpuP2PStatus_t
enum : unsigned { kP2pRead, kP2pWrite, kP2pNvLink, kP2pAtomics, kP2pPci };
enum : unsigned { kP2pOk = 0, kP2pTopology = 3, kP2pNotSupported = 5 };

unsigned P2pStatus(const Gpu& a, const Gpu& b, unsigned capability) {
  if (&a == &b) return kP2pOk;
  if (a.mig_mode == 1 || b.mig_mode == 1) return kP2pNotSupported;
  const bool linked = NvLinked(a, b);
  const bool near = CommonAncestor(a, b) <= kTopologyHostBridge;
  switch (capability) {
    case kP2pRead:
    case kP2pWrite:
      return linked || near ? kP2pOk : kP2pTopology;
    case kP2pPci:
      return near ? kP2pOk : kP2pTopology;
    default:  // NVLink, and atomics that only it has.
      return linked ? kP2pOk : kP2pNotSupported;
  }
}

// The visible GPUs that satisfy `wanted`.
template <class Predicate>
std::vector<Device> Select(const Machine& machine, const Predicate& wanted) {
  std::vector<Device> found;
  for (const Gpu* gpu : VisibleGpus(machine)) {
    if (wanted(*gpu)) found.push_back(HandleOf(*gpu));
  }
  return found;
}

bool IsLevel(unsigned level) { return level <= kTopologySystem && level % 10 == 0; }

}  // namespace

unsigned CommonAncestor(const Gpu& a, const Gpu& b) {
  if (a.pcie_root != b.pcie_root) {
    return a.numa_node >= 0 && a.numa_node == b.numa_node ? kTopologyNode : kTopologySystem;
  }
  const auto [left, right] = std::ranges::mismatch(a.bridges, b.bridges);
  if (left == a.bridges.begin()) return kTopologyHostBridge;
  const auto apart = std::max(a.bridges.end() - left, b.bridges.end() - right);
  return apart <= 1 ? kTopologySingle : kTopologyMultiple;  // A switch has one port, a bridge, for each GPU.
}

bool NvLinked(const Gpu& a, const Gpu& b) {
  return std::ranges::any_of(a.links, [&](const NvLink& link) { return Connects(link, a, b); });
}

std::vector<unsigned> NearNodes(const Machine& machine, const Gpu& gpu) {
  std::vector<unsigned> nodes;
  for (const NumaNode& node : machine.numa) {
    if (IsNear(node, gpu) && node.id >= 0) nodes.push_back(static_cast<unsigned>(node.id));
  }
  return nodes;
}

std::vector<unsigned> NearCpus(const Machine& machine, const Gpu& gpu) {
  std::vector<unsigned> cpus;
  for (const NumaNode& node : machine.numa) {
    if (IsNear(node, gpu)) std::ranges::copy(ParseCpus(node.cpus), std::back_inserter(cpus));
  }
  return cpus;
}

NVML(nvmlDeviceGetTopologyCommonAncestor, Device one, Device other, unsigned* level) {
  return Answer(__func__, one, level, [&](const View& v) -> Outcome<unsigned> {
    const auto peer = Peer(v, other);
    if (!peer.has_value()) return Fail(peer.error());
    if (*peer == &v.gpu) return Fail(kNotSupported);
    return CommonAncestor(v.gpu, **peer);
  });
}

NVML(nvmlDeviceGetTopologyNearestGpus, Device device, unsigned level, unsigned* count, Device* devices) {
  return Answer(__func__, device, Offered{count, devices}, [&](const View& v) -> Outcome<std::vector<Device>> {
    if (!IsLevel(level)) return Fail(kInvalidArgument);
    return Select(v.machine, [&](const Gpu& gpu) { return &gpu != &v.gpu && CommonAncestor(v.gpu, gpu) == level; });
  });
}

NVML(nvmlSystemGetTopologyGpuSet, unsigned cpu, unsigned* count, Device* devices) {
  return Answer(__func__, kMachine, Offered{count, devices}, [&](const Machine& m) {
    return Select(m, [&](const Gpu& gpu) { return std::ranges::count(NearCpus(m, gpu), cpu) != 0; });
  });
}

NVML(nvmlDeviceGetP2PStatus, Device one, Device other, unsigned capability, unsigned* status) {
  return Answer(__func__, one, status, [&](const View& v) -> Outcome<unsigned> {
    if (capability > kP2pPci) return Fail(kInvalidArgument);
    const auto peer = Peer(v, other);
    if (!peer.has_value()) return Fail(peer.error());
    return P2pStatus(v.gpu, **peer, capability);
  });
}

}  // namespace tessera::sim::library
