#include "cmd/tessera/refusal.h"

#include <map>
#include <vector>

#include "base/text.h"

namespace tessera::cmd {
namespace {

// Why a device does not serve a request; nothing when it could.
std::string ReasonOf(const alloc::DeviceVerdict& verdict, const local::Refusal& refusal) {
  if (verdict.obstacle == alloc::Obstacle::kNone) return {};
  const auto holder = refusal.holders.find(verdict.device);
  if (verdict.obstacle == alloc::Obstacle::kHeld && holder != refusal.holders.end()) return "held by " + holder->second;
  return verdict.detail;
}

}  // namespace

std::string ToText(const local::Refusal& refusal) {
  std::string text = Format("tessera: the claim does not fit on this machine: {}\n", refusal.reason);
  for (const alloc::RequestVerdict& request : refusal.explanation.requests) {
    std::map<std::string, std::vector<std::string>> devices;  // By reason.
    for (const alloc::DeviceVerdict& verdict : request.devices) {
      devices[ReasonOf(verdict, refusal)].push_back(verdict.device);
    }
    text += Format("  claim {}, request {}: {} of {} devices could serve\n", api::ToText(request.claim),
                   request.request, devices[""].size(), request.devices.size());
    for (const auto& [reason, names] : devices) {
      if (!reason.empty()) text += Format("    {}: {}\n", Join(names, ", "), reason);
    }
  }
  return text;
}

}  // namespace tessera::cmd
