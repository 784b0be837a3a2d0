#include "driver/health_state.h"

#include <utility>

namespace tessera::driver {
namespace {

// What another start must know. The rest goes on by itself.
health::SavedHealth Essence(health::SavedHealth health) {
  for (health::SavedGpu& gpu : health.gpus) {
    gpu.corrected.reset();
    gpu.corrected_lifetime.reset();
    for (health::SavedReason& reason : gpu.reasons) {
      reason.found.clear();
      reason.last_seen = reason.bad_for = reason.bad_ago = 0;
      reason.times = 1;
      reason.proven_for.reset();
    }
  }
  return health;
}

}  // namespace

health::Loaded<health::SavedHealth> HealthState::Load() {
  auto loaded = health::LoadHealth(file_);
  if (!loaded.damage) stored_ = loaded.value;
  return loaded;
}

Result<void> HealthState::KeepIfDue(health::SavedHealth health, Time now) {
  if (stored_ == health) return {};
  const bool urgent = stored_ && Essence(*stored_) != Essence(health);
  if (!urgent && now < next_) return {};
  next_ = now + kInterval;
  return Keep(std::move(health));
}

Result<void> HealthState::Keep(health::SavedHealth health) {
  stored_.reset();
  TESSERA_TRY(health::StoreHealth(file_, health));
  stored_ = std::move(health);
  return {};
}

}  // namespace tessera::driver
