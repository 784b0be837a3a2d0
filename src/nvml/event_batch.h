// nvml/event_batch.h: events on their way to the agent, few however many there are.
#pragma once

#include <cstdint>
#include <vector>

#include "nvml/vitals.h"

namespace tessera::nvml {

// Events that are alike become one with a count; when there are too many kinds, new ones are dropped and counted.
class EventBatch {
 public:
  static constexpr std::size_t kMostKinds = 256;

  void Add(const GpuEvent& event);
  bool empty() const { return events_.empty() && dropped_ == 0; }
  // What was gathered, in the order of first arrival; the batch is empty again.
  Observation Take();

 private:
  std::vector<GpuEvent> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace tessera::nvml
