// NVLink and the fabric behind it.
#include <algorithm>

#include "base/text.h"
#include "sim/library/library.h"
#include "sim/library/pci.h"

namespace tessera::sim::library {
namespace {

constexpr unsigned kCapabilitySli = 4, kCapabilityLast = 5;

// NOT_SUPPORTED for every link of a GPU without NVLink, INVALID_ARGUMENT past the last one of a GPU with it.
Outcome<const NvLink*> LinkOf(const View& v, unsigned link) {
  if (!v.model.nvlink || v.gpu.links.empty()) return Fail(kNotSupported);
  if (link >= v.gpu.links.size()) return Fail(kInvalidArgument);
  return &v.gpu.links[link];
}

// A link that is down does not know its other end.
Outcome<const NvLink*> ActiveLinkOf(const View& v, unsigned link) {
  const auto found = LinkOf(v, link);
  if (found.has_value() && !(*found)->up) return Fail(kNotSupported);
  return found;
}

template <class Read>
Return AnswerLink(std::string_view function, Device device, unsigned link, auto* out, const Read& read) {
  using Value = std::remove_pointer_t<decltype(out)>;
  return Answer(function, device, out, [&](const View& v) -> Outcome<Value> {
    const auto found = LinkOf(v, link);
    if (!found.has_value()) return Fail(found.error());
    return read(v, **found);
  });
}

unsigned RemoteDeviceId(const Machine& machine, const std::string& bus_id) {
  const auto at = std::ranges::find(machine.switches, bus_id, &NvSwitch::bus_id);
  if (at != machine.switches.end()) return at->pci_device_id;
  const auto gpu = std::ranges::find(machine.gpus, bus_id, &Gpu::bus_id);
  const Model* model = gpu == machine.gpus.end() ? nullptr : ModelOf(machine, *gpu);
  return model == nullptr ? 0 : model->pci_device_id;
}

Outcome<PciInfo> RemotePci(const View& v, unsigned link) {
  const auto found = ActiveLinkOf(v, link);
  if (!found.has_value()) return Fail(found.error());
  const auto address = ParsePciAddress((*found)->remote_bus_id);
  if (!address) return Fail(kNotSupported);
  return MakePciInfo(*address, RemoteDeviceId(v.machine, (*found)->remote_bus_id), 0);
}

Outcome<unsigned long long> ErrorCounter(const NvLink& link, unsigned counter) {
  const std::uint64_t counters[] = {link.replay_errors, link.recovery_errors, link.crc_flit_errors,
                                    link.crc_data_errors, link.ecc_errors};
  if (counter >= std::size(counters)) return Fail(kInvalidArgument);
  return counters[counter];
}

// ---- Fabric.

// The 16 bytes of a UUID's text; zeroes where it is none.
void SetUuid(unsigned char (&bytes)[16], std::string text) {
  std::erase(text, '-');
  for (std::size_t i = 0; i < 16 && text.size() == 32; ++i) {
    bytes[i] = ParseNumber<unsigned char>(std::string_view(text).substr(2 * i, 2), 16).value_or(0);
  }
}

// All that the newest struct holds; the older ones are parts of it. A board that has the API but no fabric says so by
// its state.
Outcome<FabricInfoV3> FabricOf(const View& v) {
  if (!v.model.fabric) return Fail(kNotSupported);
  FabricInfoV3 info{};
  if (!v.gpu.fabric) return info;
  const Fabric& fabric = *v.gpu.fabric;
  SetUuid(info.clusterUuid, fabric.cluster_uuid);
  info.status = static_cast<Return>(fabric.status);
  info.cliqueId = fabric.clique_id;
  info.state = static_cast<unsigned char>(fabric.state);
  info.healthMask = fabric.health_mask;
  info.healthSummary = static_cast<unsigned char>(fabric.health_summary);
  return info;
}

template <class Older>
Outcome<Older> FabricAs(const View& v) {
  const auto newest = FabricOf(v);
  if (!newest.has_value()) return Fail(newest.error());
  Older info{};
  std::ranges::copy(newest->clusterUuid, info.clusterUuid);
  info.status = newest->status;
  info.cliqueId = newest->cliqueId;
  info.state = newest->state;
  if constexpr (requires { info.healthMask; }) info.healthMask = newest->healthMask;
  return info;
}

template <class Info>
Outcome<Info> LinkInfo(const View& v) {
  if (const auto any = LinkOf(v, 0); !any.has_value()) return Fail(any.error());
  return Info{};  // Encryption is off, and no firmware is told apart.
}

}  // namespace

NVML(nvmlDeviceGetNvLinkState, Device device, unsigned link, unsigned* active) {
  return AnswerLink(__func__, device, link, active, [](const View&, const NvLink& l) { return l.up ? 1U : 0U; });
}

NVML(nvmlDeviceGetNvLinkVersion, Device device, unsigned link, unsigned* version) {
  return AnswerLink(__func__, device, link, version,
                    [](const View& v, const NvLink&) { return v.model.nvlink->version; });
}

// All but SLI.
NVML(nvmlDeviceGetNvLinkCapability, Device device, unsigned link, unsigned capability, unsigned* result) {
  return AnswerLink(__func__, device, link, result, [&](const View&, const NvLink&) -> Outcome<unsigned> {
    if (capability > kCapabilityLast) return Fail(kInvalidArgument);
    return capability == kCapabilitySli ? 0U : 1U;
  });
}

NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2, Device device, unsigned link, PciInfo* info) {
  return Answer(__func__, device, info, [&](const View& v) { return RemotePci(v, link); });
}
NVML(nvmlDeviceGetNvLinkRemotePciInfo, Device device, unsigned link, PciInfo* info) {
  return Answer(__func__, device, Prefix{info, offsetof(PciInfo, pciSubSystemId)},
                [&](const View& v) { return RemotePci(v, link); });
}

NVML(nvmlDeviceGetNvLinkRemoteDeviceType, Device device, unsigned link, unsigned* type) {
  return Answer(__func__, device, type, [&](const View& v) -> Outcome<unsigned> {
    const auto found = ActiveLinkOf(v, link);
    if (!found.has_value()) return Fail(found.error());
    return (*found)->remote_type;
  });
}

NVML(nvmlDeviceGetNvLinkErrorCounter, Device device, unsigned link, unsigned counter, unsigned long long* value) {
  return AnswerLink(__func__, device, link, value,
                    [&](const View&, const NvLink& l) { return ErrorCounter(l, counter); });
}

NVML(nvmlDeviceResetNvLinkErrorCounters, Device device, unsigned link) {
  return Change(__func__, device, [&](Target& t) {
    if (!t.model.nvlink || t.gpu.links.empty()) return kNotSupported;
    if (link >= t.gpu.links.size()) return kInvalidArgument;
    NvLink& l = t.gpu.links[link];
    l.replay_errors = l.recovery_errors = l.crc_flit_errors = l.crc_data_errors = l.ecc_errors = 0;
    return kSuccess;
  });
}

NVML(nvmlDeviceGetNvLinkInfo, Device device, NvLinkInfoV2* info) {
  if (Asks<NvLinkInfoV1>(info, 1)) {
    return Answer(__func__, device, Versioned{reinterpret_cast<NvLinkInfoV1*>(info), 1}, LinkInfo<NvLinkInfoV1>);
  }
  return Answer(__func__, device, Versioned{info, 2}, LinkInfo<NvLinkInfoV2>);
}

NVML(nvmlDeviceGetGpuFabricInfo, Device device, FabricInfo* info) {
  return Answer(__func__, device, info, FabricAs<FabricInfo>);
}

NVML(nvmlDeviceGetGpuFabricInfoV, Device device, FabricInfoV3* info) {
  if (Asks<FabricInfoV2>(info, 2)) {
    return Answer(__func__, device, Versioned{reinterpret_cast<FabricInfoV2*>(info), 2}, FabricAs<FabricInfoV2>);
  }
  return Answer(__func__, device, Versioned{info, 3}, FabricOf);
}

}  // namespace tessera::sim::library
