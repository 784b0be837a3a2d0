// health/look.h: from what NVML says of a GPU, look after look, to signals.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "health/policy.h"
#include "health/signal.h"
#include "health/terms.h"
#include "nvml/vitals.h"

namespace tessera::health {

// Counts within a stretch of time; a new stretch begins when the old one is over.
struct Tally {
  std::chrono::steady_clock::time_point begin;
  std::uint64_t count = 0;
};

// What must be remembered of a GPU between two looks. A counter that could not be read once is compared with the last
// time that it could.
struct Trail {
  struct Link {
    bool was_up = false;
    std::optional<std::uint64_t> errors;
  };
  std::optional<std::uint64_t> uncorrected, uncorrected_lifetime, corrected, corrected_lifetime;
  std::map<unsigned, Link> links;
  Tally uncorrected_tally, corrected_tally, link_tally;
  bool lost = false;
};

struct Look {
  std::vector<Signal> signals;
  bool answered = true;  // Neither lost nor silent.
  bool reset = false;    // The GPU has been reset since the last look.
  // How bad the driver's own advice says it is, where it is served: kNone when it asks for nothing.
  std::optional<Severity> advice;
};

// Errors from before the first look are nobody's news. What was not read gives no signal.
Look LookAt(const nvml::GpuVitals& vitals, const Policy& policy, std::string_view product, Moment now, Trail& trail);

// Nothing when the event tells nothing of health, or not of which GPU: then only the next look can say.
std::optional<Signal> SignalOf(const nvml::GpuEvent& event);

// Whether the vitals should be read at once, because they say more than the event does. Corrected errors can wait.
bool WantsLook(const nvml::GpuEvent& event);

}  // namespace tessera::health
