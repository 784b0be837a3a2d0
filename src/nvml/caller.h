// nvml/caller.h: makes NVML calls one by one: leaves out what is to be avoided, notes where it is, and turns failures into
// gaps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "nvml/api.h"
#include "nvml/facts.h"
#include "nvml/progress.h"

namespace tessera::nvml {

// A call not to make, because it hung or crashed before. It becomes a gap with this reason.
struct Avoid {
  std::string function;         // "*": nothing is asked of that GPU at all.
  std::optional<unsigned> gpu;  // Absent: on every GPU.
  std::string reason;
  bool operator==(const Avoid&) const = default;
};
template <class F>
void Describe(F& f, Avoid& a) {
  f.Required("function", a.function);
  f.Optional("gpu", a.gpu);
  f.Required("reason", a.reason);
}

// What a call came to.
enum class Outcome : std::uint8_t { kOk, kAbsent, kFailed };

// "GPU is lost (15)"
inline std::string CodeText(abi::Return code) { return Format("{} ({})", ReturnText(code), code); }

// Whether a failed call says that there is no driver to talk to any more, whichever GPU it was about.
constexpr bool IsDriverGone(abi::Return code) { return code == abi::kDriverNotLoaded || code == abi::kUninitialized; }

class Caller {
 public:
  Caller(const Api& api, const std::vector<Avoid>& avoid, Progress& progress)
      : api_(api), avoid_(avoid), progress_(progress) {}

  // Calls are about this GPU from now on, and their gaps go to `gaps`.
  void About(std::uint32_t gpu, std::vector<Gap>& gaps) {
    gpu_ = gpu;
    gaps_ = &gaps;
    lost_ = false;
    until_ = std::chrono::steady_clock::time_point::max();
  }

  // From then on no more calls are made until About(): a GPU that is slow in each of a hundred calls must not make all
  // the others wait.
  void Until(std::chrono::steady_clock::time_point until) { until_ = until; }

  // Runs one NVML function. Absent: the driver lacks it, or says that this GPU has no such thing.
  template <Fn fn, class... Args>
  Outcome Call(Args... args) {
    const abi::Return code = Raw<fn>(args...);
    if (code == abi::kSuccess) return Outcome::kOk;
    if (code == kAvoided) return Outcome::kFailed;
    if (code == abi::kNotSupported || code == abi::kFunctionNotFound) return Outcome::kAbsent;
    Note(fn, CodeText(code));
    return Outcome::kFailed;
  }

  // The return code itself, for calls whose failure is an answer. kAvoided has left a gap already.
  template <Fn fn, class... Args>
  abi::Return Raw(Args... args) {
    if (const Avoid* avoid = Avoided(Name(fn))) {
      Note(fn, avoid->reason);
      return kAvoided;
    }
    const auto function = api_.Get<fn>();
    if (function == nullptr) return abi::kFunctionNotFound;
    if (until_ < std::chrono::steady_clock::now()) {
      Note(fn, "not asked: the GPU takes too long to answer");
      return kAvoided;
    }
    const CallScope scope(progress_, fn, gpu_);
    const abi::Return code = function(args...);
    lost_ = lost_ || code == abi::kGpuIsLost;
    driver_gone_ = driver_gone_ || IsDriverGone(code);
    return code;
  }

  // The value a call wrote through its last argument, or nothing.
  template <Fn fn, class T = unsigned, class... Args>
  std::optional<T> Ask(Args... args) {
    T value{};
    if (Call<fn>(args..., &value) != Outcome::kOk) return std::nullopt;
    return value;
  }

  template <Fn fn>
  bool Has() const {
    return api_.Get<fn>() != nullptr;
  }

  void Note(Fn fn, std::string reason) {
    const Gap gap{std::string(Name(fn)), std::move(reason)};
    if (std::ranges::find(*gaps_, gap) == gaps_->end()) gaps_->push_back(gap);  // One of 18 links is enough.
  }

  // Whether the whole GPU is to be left alone.
  const Avoid* AvoidedAltogether() const { return Avoided("*"); }

  bool lost() const { return lost_; }                // A call since About() said that the GPU is lost.
  bool driver_gone() const { return driver_gone_; }  // A call said that there is no driver.

  static constexpr abi::Return kAvoided = -1;

 private:
  const Avoid* Avoided(std::string_view function) const {
    for (const Avoid& avoid : avoid_) {
      if (avoid.function == function && (!avoid.gpu || *avoid.gpu == gpu_)) return &avoid;
    }
    return nullptr;
  }

  const Api& api_;
  const std::vector<Avoid>& avoid_;
  Progress& progress_;
  std::uint32_t gpu_ = Progress::kNoGpu;
  std::vector<Gap>* gaps_ = nullptr;
  bool lost_ = false, driver_gone_ = false;
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::time_point::max();
};

// A C string in a fixed buffer, whether or not the library ended it.
template <std::size_t N>
std::string_view TextIn(const char (&buffer)[N]) {
  return Trim(std::string_view(buffer, ::strnlen(buffer, N)));
}

template <Fn fn, std::size_t N>
std::string AskText(Caller& call, abi::Device device) {
  char buffer[N] = {};
  if (call.Call<fn>(device, buffer, static_cast<unsigned>(N)) != Outcome::kOk) return {};
  return std::string(TextIn(buffer));
}

inline std::optional<bool> AsFlag(std::optional<unsigned> value) {
  if (!value || *value > 1) return std::nullopt;
  return *value == 1;
}

// ---- Questions that the inventory and the vitals both ask (caller.cc).

std::string AskDriverVersion(Caller& call);
// The number of GPUs, or an error when that cannot be had: then there is nothing to ask about.
Result<unsigned> AskGpuCount(Caller& call, const std::vector<Gap>& gaps);
// From the newest form of the question that the library takes.
std::optional<FabricFacts> AskFabric(Caller& call, abi::Device device);
std::optional<unsigned> AskRecoveryAction(Caller& call, abi::Device device);

}  // namespace tessera::nvml
