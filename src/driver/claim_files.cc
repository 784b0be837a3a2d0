#include "driver/claim_files.h"

#include "base/text.h"
#include "cdi/claim_spec.h"
#include "json/decode.h"

namespace tessera::driver {
namespace {

// Containers of an adopted claim name only the claim's device, not the base spec's: the Go driver put everything into
// the claim's own file.
void AddBase(const cdi::Spec& base, cdi::Spec& spec) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const cdi::Edits* edits : {&base.edits, &base.devices.at(0).edits}) {
    append(spec.edits.env, edits->env);
    append(spec.edits.device_nodes, edits->device_nodes);
    append(spec.edits.mounts, edits->mounts);
    append(spec.edits.hooks, edits->hooks);
    append(spec.edits.additional_gids, edits->additional_gids);
  }
}

// A GPU's minor may be another after a reboot, and the Go driver's checkpoint does not have it at all.
void SetMinors(api::PreparedClaim& claim, const HardwareState& hardware) {
  for (api::PreparedDevice& device : claim.devices) {
    if (const device::Device* now = FindHardware(hardware, device.hardware)) device.hardware.gpu_minor = now->gpu.minor;
  }
}

// Devices of the Go driver's file for the node that containers of this claim name.
std::vector<std::string> NodeDevicesOf(const api::PreparedClaim& claim) {
  const std::string prefix = Format("{}=", cdi::kNodeDeviceKind);
  std::vector<std::string> names;
  for (const api::PreparedDevice& device : claim.devices) {
    for (const std::string& id : device.cdi_ids) {
      if (id.starts_with(prefix)) names.push_back(id.substr(prefix.size()));
    }
  }
  return names;
}

std::string Comment(api::PreparedClaim claim) {
  claim.state = api::ClaimState::kCompleted;  // The file is the last step.
  return json::PrintJson(json::Encode(claim));
}

}  // namespace

Result<bool> ClaimFiles::Ensure(const api::PreparedClaim& claim, const HardwareState& hardware) {
  if (!hardware.base) return std::unexpected(*hardware.base_error);
  // A run's file holds everything: the plugin's base file, beside which it may lie, names another hook and root.
  const bool is_whole = claim.origin == "go" || claim.run;
  TESSERA_ASSIGN(const bool wrote_base, claim.run ? Result<bool>(false) : writer_.EnsureBase(hardware.base));
  const std::vector<std::string> node_devices = NodeDevicesOf(claim);
  const auto is_as_it_was = [&] { return writer_.HasClaim(claim.claim.uid) && writer_.HasNodeDevices(node_devices); };
  if (claim.origin == "go" && is_as_it_was()) return wrote_base;
  api::PreparedClaim current = claim;
  SetMinors(current, hardware);
  TESSERA_ASSIGN(cdi::Spec spec, cdi::MakeClaimSpec(hardware.roots, hardware.graphics, current));
  if (is_whole) AddBase(*hardware.base, spec);
  const std::string comment = Comment(std::move(current));
  TESSERA_ASSIGN(const bool wrote, writer_.EnsureClaim(claim.claim.uid, spec, comment));
  // Last: as long as they are missing, the claim's file does not count as the Go driver's.
  TESSERA_ASSIGN(const bool wrote_devices, writer_.EnsureNodeDevices(node_devices));
  return wrote || wrote_base || wrote_devices;
}

std::optional<api::PreparedClaim> ClaimFiles::RecordOf(const cdi::Writer::ClaimFile& file) {
  if (file.comment.empty()) return std::nullopt;
  const auto value = json::ParseJson(file.comment);
  if (!value) return std::nullopt;
  auto claim = json::Decode<api::PreparedClaim>(*value, json::Unknown::kIgnore);
  if (!claim || claim->claim.uid != file.uid) return std::nullopt;
  return *std::move(claim);
}

}  // namespace tessera::driver
