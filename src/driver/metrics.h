// driver/metrics.h: every series the plugin serves, in one place. docs/metrics.md explains them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <string_view>

#include "base/error.h"
#include "metrics/registry.h"

namespace tessera::driver {

// The steps of a Prepare or Unprepare, as the label `phase` names them.
enum class Phase : std::uint8_t { kApiGet, kValidate, kLock, kAct, kJournal, kCdi, kTotal };
inline constexpr std::size_t kPhases = 7;
std::string_view ToString(Phase phase);

enum class Method : std::uint8_t { kPrepare, kUnprepare };
std::string_view ToString(Method method);  // "prepare", "unprepare"

class Metrics {
 public:
  Metrics(std::string_view node_name, std::string_view version);

  metrics::Registry registry;

  // Ours.
  metrics::Family<metrics::Histogram>& duration;  // method, phase, outcome
  metrics::Family<metrics::Gauge>& in_flight;     // method
  metrics::Family<metrics::Counter>& errors;      // method, code, kind
  metrics::Family<metrics::Counter>& refused_again;
  metrics::Family<metrics::Gauge>& prepared;    // type
  metrics::Family<metrics::Gauge>& claim_info;  // namespace, claim, uid, pod, device, type, uuid, parent_uuid
  metrics::Family<metrics::Gauge>& journal_bytes;
  metrics::Family<metrics::Gauge>& journal_claims;
  metrics::Family<metrics::Counter>& journal_syncs;
  metrics::Family<metrics::Counter>& journal_recoveries;
  metrics::Family<metrics::Counter>& journal_write_failures;
  metrics::Family<metrics::Counter>& slice_writes;    // verb
  metrics::Family<metrics::Counter>& slice_failures;  // code
  metrics::Family<metrics::Counter>& status_writes;   // outcome
  metrics::Family<metrics::Gauge>& slices_published;  // 1 while what is stored is what we want.
  metrics::Family<metrics::Gauge>& slice_conflict;    // 1 while somebody else writes our slices.
  metrics::Family<metrics::Gauge>& dropped_fields;    // How many fields the server drops.
  metrics::Family<metrics::Gauge>& registered;        // 1 while the kubelet has us registered.
  metrics::Family<metrics::Counter>& registrations_refused;
  metrics::Family<metrics::Gauge>& devices;               // type
  metrics::Family<metrics::Gauge>& withheld;              // code
  metrics::Family<metrics::Gauge>& driver_up;             // 1 while NVML answers.
  metrics::Family<metrics::Counter>& scans;               // outcome
  metrics::Family<metrics::Gauge>& foreign_holders;       // GPUs that device-plugin pods hold.
  metrics::Family<metrics::Gauge>& device_conflicts;      // GPUs that a claim and a device-plugin pod hold.
  metrics::Family<metrics::Counter>& reconciled;          // action
  metrics::Family<metrics::Counter>& events;              // outcome
  metrics::Family<metrics::Gauge>& health_state;          // device, uuid, state; 1 for the one it is in.
  metrics::Family<metrics::Gauge>& health_reason;         // device, reason, severity; 1 while it is there.
  metrics::Family<metrics::Counter>& health_transitions;  // device, to
  metrics::Family<metrics::Gauge>& health_signal_age;     // device
  metrics::Family<metrics::Counter>& health_signals_dropped;
  metrics::Family<metrics::Gauge>& health_streams;
  metrics::Family<metrics::Counter>& xids;  // uuid, xid

  // The Go driver's names, so that its users' dashboards keep working. It counts successes only.
  metrics::Family<metrics::Counter>& go_requests;
  metrics::Family<metrics::Histogram>& go_duration;
  metrics::Family<metrics::Gauge>& go_in_flight;
  metrics::Family<metrics::Gauge>& go_prepared;
  metrics::Family<metrics::Counter>& go_prepare_errors;
  metrics::Family<metrics::Counter>& go_unprepare_errors;

  void Started(Method method);
  // One claim's call ended. `error` is null when it went well.
  void Finished(Method method, std::chrono::steady_clock::duration took, const Error* error);
  void Observe(Method method, Phase phase, bool ok, std::chrono::steady_clock::duration took);
  void SetPrepared(double gpus, double migs);

 private:
  const std::string node_name_;
  // Series of `duration`, by method, phase and outcome, once they are there: a look-up by label costs a microsecond.
  std::array<std::atomic<metrics::Histogram*>, 2 * kPhases * 2> durations_{};
};

// Measures phases of one call, one after the other.
class PhaseTimer {
 public:
  PhaseTimer(Metrics& metrics, Method method) : metrics_(metrics), method_(method) {}
  // The time since the last mark went into `phase`.
  void Mark(Phase phase, bool ok = true) {
    const auto now = std::chrono::steady_clock::now();
    metrics_.Observe(method_, phase, ok, now - last_);
    last_ = now;
  }
  std::chrono::steady_clock::duration total() const { return std::chrono::steady_clock::now() - start_; }

 private:
  Metrics& metrics_;
  const Method method_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace tessera::driver
