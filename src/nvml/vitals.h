// nvml/vitals.h: what NVML says of the condition of GPUs: counters and states, read often, and events, as they come.
//
// Plain data like facts.h, and carried the same way. Absent means NVML did not say; `gaps` says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvml/facts.h"

namespace tessera::nvml {

struct LinkVitals {
  unsigned link = 0;
  bool active = false;
  std::optional<std::uint64_t> replay_errors, recovery_errors, crc_errors;  // Since the driver was loaded.
  bool operator==(const LinkVitals&) const = default;
};

struct GpuVitals {
  std::string uuid;     // Always: a GPU without one has no vitals, but a gap of the machine.
  std::string bus_id;   // As NVML prints it.
  bool lost = false;    // NVML had it before and says now that it is lost or not there.
  bool silent = false;  // It did not answer within its deadline: nothing else is known of it.

  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;                    // Since the driver was loaded …
  std::optional<std::uint64_t> ecc_corrected_lifetime, ecc_uncorrected_lifetime;  // … and since the board was made.
  std::optional<unsigned> remapped_corrected, remapped_uncorrected;               // Rows; from Ampere on.
  std::optional<bool> remap_pending, remap_failed;
  std::optional<unsigned> retired_corrected, retired_uncorrected;  // Pages; before Ampere.
  std::optional<bool> retirement_pending;

  std::optional<unsigned> temperature;                          // Degrees Celsius.
  std::optional<std::uint64_t> slowdown_reasons;                // NVML's bits: why clocks are lower than asked for.
  std::optional<unsigned> pcie_generation, pcie_width;          // Of the link as it is now …
  std::optional<unsigned> pcie_generation_max, pcie_width_max;  // … and the most that GPU and slot can do together.
  std::optional<bool> busy;                                     // An idle GPU's link is slow on purpose.

  std::optional<FabricFacts> fabric;
  std::optional<unsigned> recovery_action;  // The driver's own advice: field 230.
  std::vector<LinkVitals> links;
  std::vector<Gap> gaps;
  bool operator==(const GpuVitals&) const = default;
};

struct MachineVitals {
  std::string driver_version;
  std::vector<GpuVitals> gpus;
  std::vector<Gap> gaps;  // Of questions about the machine as a whole.
  bool operator==(const MachineVitals&) const = default;
};

// One NVML event. MIG instances are named by number: events never carry their handles.
struct GpuEvent {
  std::uint64_t type = 0;                                  // One of abi.h's kEvent bits.
  std::uint64_t data = 0;                                  // The Xid for kEventXidCritical.
  std::string uuid;                                        // Of the physical GPU; empty when NVML did not say which.
  std::optional<unsigned> gpu_instance, compute_instance;  // Absent: the GPU as a whole.
  std::uint64_t count = 1;                                 // How many alike came together.
  bool operator==(const GpuEvent&) const = default;
};

// What was seen at one time: a reading of all GPUs, events, or both.
struct Observation {
  std::optional<MachineVitals> vitals;
  std::vector<GpuEvent> events;
  std::uint64_t dropped = 0;  // Events that came too fast to be kept apart, and are in none of `events`.
  bool operator==(const Observation&) const = default;
};

// ---- JSON.

template <class F>
void Describe(F& f, LinkVitals& l) {
  f.Required("link", l.link);
  f.Required("active", l.active);
  f.Optional("replayErrors", l.replay_errors);
  f.Optional("recoveryErrors", l.recovery_errors);
  f.Optional("crcErrors", l.crc_errors);
}

template <class F>
void Describe(F& f, GpuVitals& g) {
  f.Optional("uuid", g.uuid);
  f.Optional("busId", g.bus_id);
  f.Optional("lost", g.lost);
  f.Optional("silent", g.silent);
  f.Optional("eccCorrected", g.ecc_corrected);
  f.Optional("eccUncorrected", g.ecc_uncorrected);
  f.Optional("eccCorrectedLifetime", g.ecc_corrected_lifetime);
  f.Optional("eccUncorrectedLifetime", g.ecc_uncorrected_lifetime);
  f.Optional("remappedCorrected", g.remapped_corrected);
  f.Optional("remappedUncorrected", g.remapped_uncorrected);
  f.Optional("remapPending", g.remap_pending);
  f.Optional("remapFailed", g.remap_failed);
  f.Optional("retiredCorrected", g.retired_corrected);
  f.Optional("retiredUncorrected", g.retired_uncorrected);
  f.Optional("retirementPending", g.retirement_pending);
  f.Optional("temperature", g.temperature);
  f.Optional("slowdownReasons", g.slowdown_reasons);
  f.Optional("pcieGeneration", g.pcie_generation);
  f.Optional("pcieWidth", g.pcie_width);
  f.Optional("pcieGenerationMax", g.pcie_generation_max);
  f.Optional("pcieWidthMax", g.pcie_width_max);
  f.Optional("busy", g.busy);
  f.Optional("fabric", g.fabric);
  f.Optional("recoveryAction", g.recovery_action);
  f.Optional("links", g.links);
  f.Optional("gaps", g.gaps);
}

template <class F>
void Describe(F& f, MachineVitals& m) {
  f.Optional("driverVersion", m.driver_version);
  f.Optional("gpus", m.gpus);
  f.Optional("gaps", m.gaps);
}

template <class F>
void Describe(F& f, GpuEvent& e) {
  f.Required("type", e.type);
  f.Optional("data", e.data);
  f.Optional("uuid", e.uuid);
  f.Optional("gpuInstance", e.gpu_instance);
  f.Optional("computeInstance", e.compute_instance);
  f.Optional("count", e.count);
}

template <class F>
void Describe(F& f, Observation& o) {
  f.Optional("vitals", o.vitals);
  f.Optional("events", o.events);
  f.Optional("dropped", o.dropped);
}

}  // namespace tessera::nvml
