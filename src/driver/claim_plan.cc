#include "driver/claim_plan.h"

#include <algorithm>
#include <set>

#include "api/device_config.h"
#include "base/text.h"
#include "cdi/claim_spec.h"
#include "device/slices.h"
#include "driver/claim_faults.h"

namespace tessera::driver {
namespace {

Error NotFound(const api::AllocationResult& result, const HardwareState& hardware) {
  for (const device::Withheld& withheld : hardware.snapshot->withheld) {
    if (withheld.name == result.device) {
      return {ErrorKind::kPermanentDevice, "DeviceWithheld",
              Format("device {} of request {} cannot be used: {}", result.device, result.request, withheld.reason)};
    }
  }
  return {ErrorKind::kPermanentDevice, "DeviceNotFound",
          Format("device {} of request {} is not on this node now", result.device, result.request),
          "see which devices the driver finds with `tessera devices`"};
}

std::optional<Error> CheckConfig(const api::AllocationResult& result, const device::Device& device,
                                 const api::Allocation& allocation) {
  const auto type = device.mig ? api::DeviceType::kMig : api::DeviceType::kGpu;
  auto config = api::ConfigFor(result, type, allocation.configs, device::kDriverName);
  if (!config) return std::move(config).error();
  if (!config->has_value()) return std::nullopt;
  const auto unserved = api::Unserved(**config);
  if (!unserved) return std::nullopt;
  return Error(ErrorKind::kPermanentConfig, "ConfigNotServed",
               Format("the config asks for {}, which this version does not do", *unserved),
               "remove it from the config");
}

void AddDevice(const api::ClaimRef& claim, const api::AllocationResult& result, const device::Device& device,
               std::vector<api::PreparedDevice>& devices) {
  const std::string request(api::MainRequest(result.request));
  // One device may serve several requests of the claim only with admin access; the kubelet wants each named.
  for (api::PreparedDevice& known : devices) {
    if (known.name == result.device && known.share_id == result.share_id) {
      known.admin_access = known.admin_access && result.admin_access;
      return known.requests.push_back(request);
    }
  }
  api::PreparedDevice added{.requests = {request},
                            .pool = result.pool,
                            .name = result.device,
                            .admin_access = result.admin_access,
                            .share_id = result.share_id,
                            .hardware = HardwareOf(device),
                            .cdi_ids = {}};
  added.cdi_ids = cdi::CdiIds(claim, added);
  devices.push_back(std::move(added));
}

bool InTheWay(const api::PreparedDevice& a, const api::PreparedDevice& b) {
  if (a.admin_access || b.admin_access || !api::Overlap(a.hardware, b.hardware)) return false;
  // Shares of one device, as the scheduler counted them out.
  const bool shares = a.share_id && b.share_id && a.share_id != b.share_id && a.name == b.name;
  return !shares;
}

}  // namespace

Result<api::PreparedClaim> PlanClaim(const api::ResourceClaim& claim, const HardwareState& hardware,
                                     std::string_view node_name, const std::string& boot_id) {
  if (!claim.allocation) {
    return Transient("NotAllocated", "the claim has no devices allocated",
                     "the scheduler has not decided, or it was freed");
  }
  api::PreparedClaim plan{.claim = claim.ref,
                          .state = api::ClaimState::kStarted,
                          .boot_id = boot_id,
                          .pods = claim.reserved_for,
                          .devices = {},
                          .allocation = claim.raw_allocation,
                          .origin = {},
                          .adopted = nullptr,
                          .run = std::nullopt};
  ClaimFaults faults;
  bool ours = false;
  for (const api::AllocationResult& result : claim.allocation->results) {
    if (result.driver != device::kDriverName) continue;
    ours = true;
    if (result.pool != node_name) {
      faults.Add({ErrorKind::kPermanentConfig, "WrongPool",
                  Format("device {} of request {} is in pool {}, which is not this node's ({})", result.device,
                         result.request, result.pool, node_name)});
      continue;
    }
    const auto device = hardware.by_name.find(result.device);
    if (device == hardware.by_name.end()) {
      faults.Add(NotFound(result, hardware));
      continue;
    }
    if (auto fault = CheckConfig(result, *device->second, *claim.allocation)) faults.Add(result, *fault);
    AddDevice(claim.ref, result, *device->second, plan.devices);
  }
  if (!ours) {
    return BadConfig("NothingForUs", Format("the claim has no device of {} allocated", device::kDriverName));
  }
  if (!faults.empty()) return std::unexpected(faults.AsError());
  return plan;
}

std::vector<Conflict> FindConflicts(const api::PreparedClaim& plan,
                                    const std::vector<std::shared_ptr<const api::PreparedClaim>>& others) {
  std::vector<Conflict> conflicts;
  for (const auto& other : others) {
    if (other->claim.uid == plan.claim.uid) continue;
    for (const api::PreparedDevice& device : plan.devices) {
      for (const api::PreparedDevice& theirs : other->devices) {
        if (InTheWay(device, theirs)) conflicts.push_back({device.name, other, theirs.name});
      }
    }
  }
  return conflicts;
}

std::string ToText(const Conflict& conflict) {
  const api::PreparedClaim& other = *conflict.other;
  const std::string name = other.claim.name.empty() ? "with UID " + other.claim.uid : api::ToText(other.claim);
  const std::string as = conflict.other_device == conflict.device ? "" : Format(" as {}", conflict.other_device);
  std::string user = other.pods.empty() ? "" : Format(" (pod {})", Join(other.pods, ", "));
  if (other.run) user = Format(" (tessera run, process {})", other.run->pid);
  return Format("{} is prepared{} for claim {}{}", conflict.device, as, name, user);
}

std::vector<std::string> GpusOf(const api::PreparedClaim& claim) {
  std::set<std::string> gpus;
  for (const api::PreparedDevice& device : claim.devices) {
    if (!device.admin_access) gpus.insert(device.hardware.gpu_uuid);
  }
  return {gpus.begin(), gpus.end()};
}

}  // namespace tessera::driver
