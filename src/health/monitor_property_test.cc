// What holds for every sequence of signals, tried with thousands of random ones: no standing reason is lost, nothing
// stays once all is good, and nothing comes and goes faster than its hysteresis.
//
// The judge is a second, much simpler book-keeping: when was each fault last fed, and when was it last disproved.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "health/test_parts.h"

namespace tessera::health {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr unsigned kGpus = 4;
constexpr unsigned kParts = 8, kSeedsPerPart = 250;  // Parts run side by side.
constexpr int kSteps = 40;

// What the test knows of one fault of one GPU.
struct Fed {
  std::optional<seconds> bad, good;  // When it was last seen bad; when it was last disproved, or could have been.
};

using Codes = std::set<std::string>;

class Trial {
 public:
  explicit Trial(unsigned seed) : random_(seed) {
    serves_advice_ = Chance(2);
    monitor_.SetDevices(Devices(), At(passed_));
    for (unsigned i = 0; i < kGpus; ++i) {
      gpus_.push_back(GoodVitals(i));
      if (serves_advice_) gpus_.back().recovery_action = 0;
    }
    Look();
  }

  void Steps() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      passed_ += seconds{1 + static_cast<int>(random_() % 40)};
      Disturb();
      if (!Chance(5)) Look();
      Check();
      if (Chance(20)) Restart();
    }
  }

  // Everything is good from now on, and the GPUs have been reset.
  void Mend() {
    for (unsigned i = 0; i < kGpus; ++i) {
      const auto lifetime = gpus_[i].ecc_uncorrected_lifetime;
      gpus_[i] = GoodVitals(i);
      gpus_[i].ecc_uncorrected_lifetime = lifetime;
      if (serves_advice_) gpus_[i].recovery_action = 0;
      Reset(i);
    }
    verdicts_.clear();
    // Longer than the longest proof of what was fed takes.
    for (const seconds end = passed_ + minutes{15}; passed_ < end;) {
      passed_ += seconds{15};
      Look();
    }
    for (const DeviceHealth& health : monitor_.report()) {
      EXPECT_EQ(health.state, State::kHealthy) << health.device << ": " << health.message;
      EXPECT_EQ(health.health, Health::kHealthy) << health.device;
      EXPECT_TRUE(health.taints.empty()) << health.device;
    }
  }

 private:
  bool Chance(unsigned one_in) { return random_() % one_in == 0; }

  // GPU 0 is offered as two MIG devices, the others whole.
  static device::Snapshot Devices() {
    return SnapshotOf({MigDevice(0, 1), MigDevice(0, 2), FullGpu(1), FullGpu(2), FullGpu(3)});
  }

  // One thing gets worse or better.
  void Disturb() {
    const unsigned which = static_cast<unsigned>(random_() % kGpus);
    nvml::GpuVitals& gpu = gpus_[which];
    switch (random_() % 10) {
      case 0:
        gpu.remap_failed = !*gpu.remap_failed;
        break;
      case 1:
        gpu.links[1].active = !gpu.links[1].active;
        break;
      case 2:
        gpu.slowdown_reasons = *gpu.slowdown_reasons == 0 ? 0x40 : 0;
        break;
      case 3:
        gpu.silent = !gpu.silent;
        break;
      case 4:
        gpu.lost = !gpu.lost;
        break;
      case 5:
        ++*gpu.ecc_uncorrected_lifetime;
        break;
      case 6:
        if (serves_advice_) gpu.recovery_action = Chance(2) ? 1 : 0;
        break;
      case 7:
        Xid(which, Chance(2) ? 79 : 119);
        break;
      case 8:
        if (!verdicts_.erase(which)) verdicts_[which] = Chance(2) ? Severity::kUnusable : Severity::kDegraded;
        break;
      default:
        if (Chance(10)) Reset(which);
    }
  }

  void Xid(unsigned gpu, std::uint64_t code) {
    monitor_.Observe(XidEvent(gpu, code), At(passed_));
    fed_[{gpu, Format("Xid{}", code)}].bad = passed_;
    fed_[{gpu, Format("Xid{}", code)}].good.reset();
  }

  void Reset(unsigned gpu) {
    monitor_.NoteReset(Uuid(gpu));
    Disproved(gpu);
  }
  void Disproved(unsigned gpu) {
    for (auto& [key, fed] : fed_) {
      if (key.first == gpu && !fed.good) fed.good = passed_;
    }
  }

  void Look() {
    std::vector<Verdict> verdicts;
    for (const auto& [gpu, severity] : verdicts_) {
      verdicts.push_back({.file = Uuid(gpu), .device = Uuid(gpu), .severity = severity, .reason = "x"});
    }
    monitor_.SetVerdicts(verdicts);
    monitor_.Observe(MachineOf(gpus_), At(passed_));
    for (unsigned i = 0; i < kGpus; ++i) Note(i);
    Tick();
  }

  // The judge's own reading of the vitals.
  void Note(unsigned i) {
    const nvml::GpuVitals& gpu = gpus_[i];
    Condition(i, "GpuSilent", gpu.silent);
    if (gpu.silent) return;
    Condition(i, "GpuLost", gpu.lost);
    if (gpu.lost) {
      was_lost_.insert(i);
      return;
    }
    if (was_lost_.erase(i) != 0) Disproved(i);
    Condition(i, "RowRemapFailed", *gpu.remap_failed);
    Condition(i, "NvlinkDown", !gpu.links[1].active);
    Condition(i, "ThermalSlowdown", *gpu.slowdown_reasons != 0);
    if (*gpu.ecc_uncorrected_lifetime > lifetime_[i]) {
      lifetime_[i] = *gpu.ecc_uncorrected_lifetime;
      fed_[{i, "EccUncorrected"}] = {passed_, std::nullopt};
    }
    if (!serves_advice_) return;
    Condition(i, "RecoveryAction", *gpu.recovery_action != 0);
    for (const char* code : {"Xid79", "Xid119"}) {
      Fed& fed = fed_[{i, code}];
      if (*gpu.recovery_action != 0) {
        fed.good.reset();
      } else if (!fed.good) {
        fed.good = passed_;
      }
    }
  }

  void Condition(unsigned gpu, const char* code, bool present) {
    Fed& fed = fed_[{gpu, code}];
    if (present) {
      fed = {passed_, std::nullopt};
    } else if (!fed.good) {
      fed.good = passed_;
    }
  }

  void Tick() {
    (void)monitor_.Tick(At(passed_));
    for (const DeviceHealth& health : monitor_.report()) {
      Codes now, standing;
      for (const ReasonReport& reason : health.reasons) {
        now.insert(reason.code);
        if (reason.phase != Phase::kSuspect) standing.insert(reason.code);
      }
      Compare(health, now);
      before_[health.device] = {now, standing};
    }
    for (const auto& key : went_) fed_[key] = {};
    went_.clear();
  }

  // Against the report before: what went must have been proven good for its hold, or have been no more than a suspicion.
  void Compare(const DeviceHealth& health, const Codes& now) {
    const unsigned gpu = static_cast<unsigned>(health.gpu_uuid.back() - '0');
    const auto& [all, standing] = before_[health.device];
    for (const std::string& code : all) {
      if (now.contains(code) || code == "Verdict" || code == "Unmonitored") continue;
      const Fed& fed = fed_[{gpu, code}];
      ASSERT_TRUE(fed.bad) << code << " went but was never fed";
      went_.insert({gpu, code});
      EXPECT_GE(passed_ - *fed.bad, HoldOf(code)) << health.device << ": " << code << " went too soon";
      if (!standing.contains(code)) continue;
      const auto proven = ProvenAt(code, fed);
      ASSERT_TRUE(proven) << health.device << ": " << code << " stood, was not disproved, and is lost";
      EXPECT_GE(passed_ - *proven, HoldOf(code)) << health.device << ": " << code << " went before its proof held";
    }
  }

  static Rule RuleOf(const std::string& code) {
    Kind kind{};
    return FromText(code, kind) ? Catalogue::Get().Reason(kind).rule : Catalogue::Get().Action("reset-gpu").rule;
  }
  static seconds HoldOf(const std::string& code) { return RuleOf(code).hold; }
  // What is counted is also disproved by being quiet.
  static std::optional<seconds> ProvenAt(const std::string& code, const Fed& fed) {
    const Rule rule = RuleOf(code);
    if (rule.proof != Proof::kQuiet) return fed.good;
    return std::min(fed.good.value_or(seconds::max()), *fed.bad + rule.quiet);
  }

  // What is fed and not disproved must be there, and decide.
  void Check() {
    Tick();
    for (const DeviceHealth& health : monitor_.report()) {
      const unsigned gpu = static_cast<unsigned>(health.gpu_uuid.back() - '0');
      const Codes& now = before_[health.device].first;
      for (const char* code : {"RowRemapFailed", "GpuLost", "Xid79", "Xid119", "NvlinkDown", "RecoveryAction"}) {
        const Fed& fed = fed_[{gpu, code}];
        if (!fed.bad || fed.good) continue;
        const bool may_be_stale =
            std::string_view(code) == "NvlinkDown" && !before_[health.device].second.contains(code);
        EXPECT_TRUE(now.contains(code) || may_be_stale) << health.device << ": " << code << " is missing";
      }
      Severity worst = Severity::kNone;
      for (const ReasonReport& reason : health.reasons) worst = std::max(worst, reason.severity);
      EXPECT_EQ(health.severity, worst);
      EXPECT_EQ(health.state == State::kHealthy, health.reasons.empty());
      EXPECT_EQ(health.state == State::kUnhealthy || health.state == State::kRecovering || worst < Severity::kUnusable,
                true);
      EXPECT_LE(health.message.size(), kMaxMessage);
    }
  }

  // The plugin restarts, or does not: the same must come of it.
  void Restart() {
    const SavedHealth saved = monitor_.Save("boot", At(passed_));
    monitor_ = Monitor();
    monitor_.Restore(saved, "boot", At(passed_));
    monitor_.SetDevices(Devices(), At(passed_));
    Look();
  }

  std::mt19937 random_;
  bool serves_advice_ = false;
  Monitor monitor_;
  seconds passed_{0};
  std::vector<nvml::GpuVitals> gpus_;
  std::map<unsigned, Severity> verdicts_;
  std::map<std::pair<unsigned, std::string>, Fed> fed_;
  std::map<unsigned, std::uint64_t> lifetime_{{0, 7}, {1, 7}, {2, 7}, {3, 7}};
  std::set<std::pair<unsigned, std::string>> went_;  // In this tick.
  std::set<unsigned> was_lost_;
  std::map<std::string, std::pair<Codes, Codes>> before_;  // All reasons of a device, and those that stand.
};

class MonitorProperties : public ::testing::TestWithParam<unsigned> {};

TEST_P(MonitorProperties, NothingIsLostNothingSticksNothingFlaps) {
  for (unsigned seed = GetParam() * kSeedsPerPart; seed < (GetParam() + 1) * kSeedsPerPart && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Trial trial(seed);
    trial.Steps();
    trial.Mend();
  }
}

INSTANTIATE_TEST_SUITE_P(Part, MonitorProperties, ::testing::Range(0U, kParts));

}  // namespace
}  // namespace tessera::health
