// nvml/read.h: asks NVML everything the inventory wants to know.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "nvml/api.h"
#include "nvml/facts.h"

namespace tessera::nvml {

// Where the NVML host is, in memory that the agent can see: when the host hangs or dies, the agent reads here in which
// call. Plain atomics of a fixed layout, because two processes map it.
struct Progress {
  static constexpr std::uint32_t kNoCall = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoGpu = 0xFFFFFFFF;

  std::atomic<std::uint32_t> calls = 0;           // Grows with each call.
  std::atomic<std::uint32_t> function = kNoCall;  // Fn of the call in progress.
  std::atomic<std::uint32_t> gpu = kNoGpu;        // Index of the GPU it asks about.
};

// Notes one call in a Progress for as long as it lasts.
class CallScope {
 public:
  CallScope(Progress& progress, Fn fn, std::uint32_t gpu = Progress::kNoGpu) : progress_(progress) {
    progress_.gpu.store(gpu, std::memory_order_relaxed);
    progress_.function.store(static_cast<std::uint32_t>(fn), std::memory_order_relaxed);
    progress_.calls.fetch_add(1, std::memory_order_release);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() { progress_.function.store(Progress::kNoCall, std::memory_order_release); }

 private:
  Progress& progress_;
};

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

// Reads all GPUs through an initialised library, and vets what it says (vet.h). A GPU that does not answer is in the
// result with gaps. Fails only when the number of GPUs cannot be had.
Result<MachineFacts> ReadMachine(const Api& api, const std::vector<Avoid>& avoid, Progress& progress);

// What makes nvmlInit fail, as an error with advice.
Error InitError(abi::Return code);

}  // namespace tessera::nvml
