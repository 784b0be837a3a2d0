#include "cmd/tessera/refusal.h"

#include <memory>
#include <vector>

#include "base/text.h"
#include "device/slices.h"
#include "inspect/explain.h"
#include "inspect/explain_view.h"

namespace tessera::cmd {
namespace {

inspect::Holder AsHolder(const local::Holder& holder, const std::string& pool) {
  inspect::Holder out{.claim = holder.claim, .user = holder.user, .results = {}};
  for (const std::string& device : holder.devices) {
    out.results.push_back({.request = {}, .driver = std::string(device::kDriverName), .pool = pool, .device = device});
  }
  return out;
}

}  // namespace

std::string ToText(const local::Refusal& refusal, std::span<const alloc::Claim> claims, const alloc::Classes& classes) {
  inspect::Situation situation{
      .inventory = std::make_shared<const alloc::Inventory>(refusal.slices),
      .slices = std::make_shared<const std::vector<api::ResourceSlice>>(refusal.slices),
      .holders = {},
      .classes = classes,
      .claims = {claims.begin(), claims.end()},
      .nodes = {refusal.node},
      .rules = refusal.rules,
  };
  for (const local::Holder& holder : refusal.holders) {
    situation.holders.push_back(AsHolder(holder, refusal.node.name));
  }
  return Format("tessera: {} not fit on this machine{}{}\n{}", claims.size() == 1 ? "the claim does" : "the claims do",
                refusal.reason.empty() ? "" : ": ", refusal.reason,
                inspect::ReasonsToText(inspect::ExplainRefusal(situation)));
}

}  // namespace tessera::cmd
