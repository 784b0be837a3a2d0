#include "api/prepared_claim.h"

#include <algorithm>

namespace tessera::api {
namespace {

constexpr std::size_t kMaxUid = 63;

bool IsAlphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool PlacementsOverlap(const MigHardware& a, const MigHardware& b) {
  if (a.placement_size == 0 || b.placement_size == 0) return true;
  return a.placement_start < b.placement_start + b.placement_size &&
         b.placement_start < a.placement_start + a.placement_size;
}

}  // namespace

bool IsClaimUid(std::string_view text) {
  if (text.empty() || text.size() > kMaxUid) return false;
  if (!IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

std::string ToText(const ClaimRef& claim) { return claim.namespace_name + "/" + claim.name; }

bool Overlap(const Hardware& a, const Hardware& b) {
  // Old checkpoints of the Go driver know no more of a MIG device than its UUID.
  if (a.mig && b.mig && !a.mig->uuid.empty() && a.mig->uuid == b.mig->uuid) return true;
  if (a.gpu_uuid != b.gpu_uuid) return false;
  if (!a.mig || !b.mig) return true;
  if (a.mig->gpu_instance == b.mig->gpu_instance) {
    return a.mig->compute_instance ==
           b.mig->compute_instance;  // Compute instances of one GPU instance share its memory.
  }
  return PlacementsOverlap(*a.mig, *b.mig);
}

bool FromText(std::string_view text, ClaimState& state) {
  if (text != "started" && text != "completed") return false;
  state = text == "started" ? ClaimState::kStarted : ClaimState::kCompleted;
  return true;
}

std::string ToText(ClaimState state) { return state == ClaimState::kStarted ? "started" : "completed"; }

}  // namespace tessera::api
