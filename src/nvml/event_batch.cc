#include "nvml/event_batch.h"

#include <algorithm>
#include <utility>

namespace tessera::nvml {

void EventBatch::Add(const GpuEvent& event) {
  const auto alike = std::ranges::find_if(events_, [&](const GpuEvent& e) {
    return e.type == event.type && e.data == event.data && e.gpu_instance == event.gpu_instance &&
           e.compute_instance == event.compute_instance && e.uuid == event.uuid;
  });
  if (alike != events_.end()) {
    alike->count += event.count;
  } else if (events_.size() < kMostKinds) {
    events_.push_back(event);
  } else {
    dropped_ += event.count;
  }
}

Observation EventBatch::Take() {
  return {.vitals = std::nullopt, .events = std::exchange(events_, {}), .dropped = std::exchange(dropped_, 0)};
}

}  // namespace tessera::nvml
