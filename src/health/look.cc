#include "health/look.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "nvml/abi.h"

namespace tessera::health {
namespace {

// NVML's clocks event reasons. Software power capping is not among them: a busy GPU is at its limit on purpose.
constexpr std::uint64_t kHwSlowdown = 0x8, kSwThermal = 0x20, kHwThermal = 0x40, kHwPowerBrake = 0x80;

// How much a counter grew, and whether it fell: then it began anew, and all it shows is new.
std::uint64_t Growth(std::optional<std::uint64_t>& last, const std::optional<std::uint64_t>& now, bool& fell) {
  if (!now) return 0;
  const std::optional<std::uint64_t> before = std::exchange(last, now);
  if (!before) return 0;
  if (*now < *before) fell = true;
  return *now < *before ? *now : *now - *before;
}

// Adds to the tally; true when something was added and it is at the rule's threshold.
bool Count(Tally& tally, std::uint64_t added, const Rule& rule, Moment now) {
  if (now.mono - tally.begin > rule.window) tally = {now.mono, 0};
  tally.count += added;
  return added > 0 && tally.count >= rule.threshold;
}

class Looker {
 public:
  Looker(const nvml::GpuVitals& vitals, const Policy& policy, std::string_view product, Moment now, Trail& trail)
      : vitals_(vitals), policy_(policy), product_(product), now_(now), trail_(trail) {}

  Look Run() {
    const bool was_lost = trail_.lost;
    if (!vitals_.silent) trail_.lost = vitals_.lost;  // Of a silent GPU nothing is known, not even this.
    look_.answered = !vitals_.lost && !vitals_.silent;
    See(Kind::kGpuSilent, vitals_.silent, "NVML got no answer within its deadline");
    if (!vitals_.silent) See(Kind::kGpuLost, vitals_.lost, "NVML says that it is lost or not there");
    if (!look_.answered) return std::move(look_);
    look_.reset = was_lost;
    Ecc();
    Memory();
    Nvlink();
    Slowdown();
    Pcie();
    Fabric();
    Advice();
    return std::move(look_);
  }

 private:
  Signal& Add(Kind kind, Sight sight, std::string found) {
    return look_.signals.emplace_back(
        Signal{.kind = kind, .place = {vitals_.uuid, {}, {}}, .sight = sight, .found = std::move(found)});
  }
  // `present` may be unknown.
  void See(Kind kind, std::optional<bool> present, std::string found = {}) {
    if (present) Add(kind, *present ? Sight::kPresent : Sight::kAbsent, *present ? std::move(found) : std::string());
  }

  void Ecc() {
    bool fell = false, ignored = false;  // A person may clear the lifetime counters; that is no reset.
    // The lifetime counters also show what happened while nobody looked.
    const std::uint64_t uncorrected =
        std::max(Growth(trail_.uncorrected, vitals_.ecc_uncorrected, fell),
                 Growth(trail_.uncorrected_lifetime, vitals_.ecc_uncorrected_lifetime, ignored));
    const std::uint64_t corrected =
        std::max(Growth(trail_.corrected, vitals_.ecc_corrected, fell),
                 Growth(trail_.corrected_lifetime, vitals_.ecc_corrected_lifetime, ignored));
    look_.reset |= fell;
    Errors(Kind::kEccUncorrected, trail_.uncorrected_tally, uncorrected);
    Errors(Kind::kEccCorrected, trail_.corrected_tally, corrected);
  }

  void Errors(Kind kind, Tally& tally, std::uint64_t added) {
    const Rule rule = policy_.RuleFor(kind, product_);
    if (Count(tally, added, rule, now_)) {
      Add(kind, Sight::kOccurred, Format("{} within {}", tally.count, ToText(Span{rule.window})));
    }
  }

  void Memory() {
    See(Kind::kRowRemapPending, vitals_.remap_pending);
    See(Kind::kRowRemapFailed, vitals_.remap_failed);
    See(Kind::kPageRetirementPending, vitals_.retirement_pending);
    if (!vitals_.retired_corrected && !vitals_.retired_uncorrected) return;
    const std::uint64_t pages =
        std::uint64_t{vitals_.retired_corrected.value_or(0)} + vitals_.retired_uncorrected.value_or(0);
    See(Kind::kPagesRetired, pages >= policy_.RuleFor(Kind::kPagesRetired, product_).threshold,
        Format("{} pages", pages));
  }

  void Nvlink() {
    std::vector<std::string> down;
    std::uint64_t errors = 0;
    bool fell = false;
    for (const nvml::LinkVitals& link : vitals_.links) {
      Trail::Link& trail = trail_.links[link.link];
      if (link.active) trail.was_up = true;
      // A link that was never up is not connected, or not used on purpose.
      if (!link.active && trail.was_up) down.push_back(Format("{}", link.link));
      std::optional<std::uint64_t> sum;
      for (const auto& counter : {link.replay_errors, link.recovery_errors, link.crc_errors}) {
        if (counter) sum = sum.value_or(0) + *counter;
      }
      errors += Growth(trail.errors, sum, fell);
    }
    look_.reset |= fell;
    if (!vitals_.links.empty()) {
      See(Kind::kNvlinkDown, !down.empty(), Format("link{} {}", down.size() == 1 ? "" : "s", Join(down, ", ")));
    }
    Errors(Kind::kNvlinkErrors, trail_.link_tally, errors);
  }

  void Slowdown() {
    if (!vitals_.slowdown_reasons) return;
    const std::uint64_t bits = *vitals_.slowdown_reasons;
    const bool thermal = (bits & (kSwThermal | kHwThermal)) != 0;
    const bool power = (bits & kHwPowerBrake) != 0 || ((bits & kHwSlowdown) != 0 && !thermal);
    See(Kind::kThermalSlowdown, thermal,
        vitals_.temperature ? Format("{} °C", *vitals_.temperature) : std::string("the sensor gives no number"));
    See(Kind::kPowerSlowdown, power, (bits & kHwPowerBrake) != 0 ? "power brake" : "hardware slowdown");
  }

  void Pcie() {
    const bool known =
        vitals_.pcie_generation && vitals_.pcie_width && vitals_.pcie_generation_max && vitals_.pcie_width_max;
    if (!known) return;
    const bool below =
        *vitals_.pcie_generation < *vitals_.pcie_generation_max || *vitals_.pcie_width < *vitals_.pcie_width_max;
    if (below && !vitals_.busy.value_or(false)) return;  // An idle link sleeps: no news, good or bad.
    See(Kind::kPcieDegraded, below,
        Format("generation {} x{} of {} x{}", *vitals_.pcie_generation, *vitals_.pcie_width,
               *vitals_.pcie_generation_max, *vitals_.pcie_width_max));
  }

  void Fabric();
  void Advice();

  const nvml::GpuVitals& vitals_;
  const Policy& policy_;
  const std::string_view product_;
  const Moment now_;
  Trail& trail_;
  Look look_;
};

constexpr unsigned kFabricUnsupported = 0, kFabricCompleted = 3;

// A field of the fabric's health mask. Tri-state ones are 1 when the bad condition is there; the configuration is a
// number of its own, for which 1 is good.
unsigned MaskField(unsigned mask, unsigned shift, unsigned width) { return (mask >> shift) & width; }

std::string FabricFault(const nvml::FabricFacts& fabric) {
  if (fabric.status != 0) return Format("registration failed (NVML code {})", fabric.status);
  const unsigned mask = fabric.health_mask.value_or(0);
  if (MaskField(mask, 4, 3) == 1) return "its route is unhealthy";
  constexpr std::array<std::string_view, 9> kWrong{"",
                                                   "",
                                                   "wrong system GUID",
                                                   "wrong chassis serial number",
                                                   "no partition",
                                                   "too few NVLinks",
                                                   "incompatible firmware",
                                                   "invalid location",
                                                   "invalid state of the GPU"};
  const unsigned configuration = MaskField(mask, 8, 0xF);
  if (configuration < 2) return {};
  return configuration < kWrong.size() ? std::string(kWrong.at(configuration))
                                       : Format("incorrect configuration ({})", configuration);
}

std::string FabricLoss(unsigned mask) {
  if (MaskField(mask, 0, 3) == 1) return "less bandwidth";
  if (MaskField(mask, 2, 3) == 1) return "a route is being recovered";
  return MaskField(mask, 6, 3) == 1 ? "recovering from an access timeout" : std::string();
}

void Looker::Fabric() {
  if (!vitals_.fabric) return;
  const nvml::FabricFacts& fabric = *vitals_.fabric;
  const bool completed = fabric.state == kFabricCompleted;
  See(Kind::kFabricNotReady, !completed && fabric.state != kFabricUnsupported,
      fabric.state == 1 ? "registration has not started" : "registration is under way");
  const std::string fault = completed ? FabricFault(fabric) : std::string();
  const std::string loss = completed ? FabricLoss(fabric.health_mask.value_or(0)) : std::string();
  // While it registers again, nobody knows whether the fault is still there.
  if (completed || fabric.state == kFabricUnsupported) {
    See(Kind::kFabricFailed, !fault.empty(), fault);
    See(Kind::kFabricDegraded, !loss.empty(), loss);
  }
}

struct AdviceInfo {
  Severity severity;
  std::string_view found, next;
};

constexpr std::array<AdviceInfo, 6> kAdvice{{
    {Severity::kNone, "nothing", ""},
    {Severity::kUnusable, "reset the GPU", "Drain and reset the GPU (nvidia-smi --gpu-reset)."},
    {Severity::kUnusable, "reboot the node", "Drain and reboot the node."},
    {Severity::kDegraded, "drain work that uses peer GPUs", "Let jobs over several GPUs end, then reset the GPU."},
    {Severity::kUnusable, "drain and reset the GPU", "Let its work end, then reset the GPU (nvidia-smi --gpu-reset)."},
    {Severity::kDegraded, "recover the IMEX domain", "Restart nvidia-imex on the nodes of its domain."},
}};

void Looker::Advice() {
  if (!vitals_.recovery_action) return;
  const unsigned action = *vitals_.recovery_action;
  const bool known = action < kAdvice.size();
  look_.advice = known ? kAdvice.at(action).severity : Severity::kUnusable;  // Newer advice than ours is still advice.
  if (action == 0) return See(Kind::kRecoveryAction, false);
  Signal& signal =
      Add(Kind::kRecoveryAction, Sight::kPresent, known ? std::string(kAdvice.at(action).found) : Format("{}", action));
  signal.severity = look_.advice;
  signal.next = known ? kAdvice.at(action).next : "Look up this recovery action in the driver's NVML documentation.";
}

}  // namespace

Look LookAt(const nvml::GpuVitals& vitals, const Policy& policy, std::string_view product, Moment now, Trail& trail) {
  return Looker(vitals, policy, product, now, trail).Run();
}

std::optional<Signal> SignalOf(const nvml::GpuEvent& event) {
  if (event.uuid.empty()) return std::nullopt;
  const Place place{event.uuid, event.gpu_instance, event.compute_instance};
  switch (event.type) {
    case nvml::abi::kEventXidCritical:
      return Signal{.kind = Kind::kXid, .place = place, .detail = Format("{}", event.data)};
    case nvml::abi::kEventDoubleBitEcc:
      return Signal{.kind = Kind::kEccUncorrected, .place = place, .found = "the driver reported one"};
    case nvml::abi::kEventGpuUnavailable:
      return Signal{.kind = Kind::kGpuLost,
                    .place = {event.uuid, {}, {}},
                    .sight = Sight::kPresent,
                    .found = "the driver says that it is unavailable"};
    default:
      return std::nullopt;
  }
}

bool WantsLook(const nvml::GpuEvent& event) {
  constexpr std::uint64_t kOrdinary =
      nvml::abi::kEventSingleBitEcc | nvml::abi::kEventPState | nvml::abi::kEventClock | nvml::abi::kEventPowerSource;
  return (event.type & ~kOrdinary) != 0;
}

}  // namespace tessera::health
