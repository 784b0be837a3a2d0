// nvml/blame.h: what the next NVML host leaves out, after others were lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "nvml/caller.h"

namespace tessera::nvml {

// Learns from lost hosts. A call that one was lost in is left out on that GPU, on every GPU once two were hit; a whole
// GPU once two of its calls were, or one without which it has no identity.
class Blame {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Nothing is left out for longer than this; then it is tried again.
  explicit Blame(std::chrono::minutes lasting) : lasting_(lasting) {}

  // A host was lost in `function` on `gpu`, as a Progress has them; `what` continues "the NVML host". With `whole_gpu`
  // the GPU is left alone at once. An error when leaving the call out would leave nothing.
  Result<void> Add(std::uint32_t function, std::uint32_t gpu, const std::string& what, Time now,
                   bool whole_gpu = false);

  // Forgets what has lasted long enough. Whether there was any.
  bool Expire(Time now);
  void Clear() { avoided_.clear(); }
  bool empty() const { return avoided_.empty(); }

  std::vector<Avoid> Avoids() const;

 private:
  struct Avoided {
    Avoid avoid;
    Time until;
  };
  // Makes `avoid` as narrow as what is known allows.
  void Narrow(Avoid& avoid, unsigned gpu);

  const std::chrono::minutes lasting_;
  std::vector<Avoided> avoided_;
};

}  // namespace tessera::nvml
