// alloc/outlook.h: what a search cannot achieve, whatever it chooses. Kubernetes tries every combination and may take
// 2^n steps to find out; this looks at each device once.
//
// Nothing here changes an answer. What is cut off has no solution, and cannot end in one of the errors that make the
// scheduler stop. So where such an error is possible, or where the scheduler's answer depends on its path, there is no
// outlook at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/checks.h"

namespace tessera::alloc {

class Outlook {
 public:
  // Nothing when no branch may be cut off.
  static std::optional<Outlook> Of(const Problem& problem);

  // No solution at all.
  bool Hopeless() const { return hopeless_; }

  // Whether a solution may have the device in this option.
  bool Allows(std::size_t option, std::uint32_t device) const { return allowed_[option][device]; }

  // How many such devices there are from `start` on.
  std::uint32_t Left(std::size_t option, std::uint32_t start) const { return left_[option][start]; }

  // The nearest earlier device that can take this one's place in every solution, and the other way round.
  std::optional<std::uint32_t> EarlierTwin(std::uint32_t device) const {
    if (earlier_twin_[device] == kNoTwin) return std::nullopt;
    return earlier_twin_[device];
  }

 private:
  friend class OutlookBuilder;
  static constexpr std::uint32_t kNoTwin = UINT32_MAX;

  bool hopeless_ = false;
  std::vector<std::vector<unsigned char>> allowed_;  // By option and device.
  std::vector<std::vector<std::uint32_t>> left_;     // By option and device, and one more.
  std::vector<std::uint32_t> earlier_twin_;          // By device.
};

}  // namespace tessera::alloc
