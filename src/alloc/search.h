// alloc/search.h: looks for devices, one after the other, and goes back when there are none left. The first solution in
// the scheduler's order is the answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "alloc/capacity.h"
#include "alloc/checks.h"
#include "alloc/outlook.h"
#include "alloc/plan.h"
#include "alloc/pools.h"
#include "base/error.h"

namespace tessera::alloc {

// A device that was chosen for an option.
struct Choice {
  std::uint32_t device = 0;
  std::uint32_t option = 0;
  bool share = false;  // It stays free for others, as far as its capacity goes.
  Amounts consumed;    // Of a share.
};

struct SearchLimits {
  bool prune = true;                     // Cut off what cannot succeed. The answer is the same.
  std::uint64_t max_steps = 20'000'000;  // Then AllocationUndecided. The scheduler gives up after 10 s.
};

class Search {
 public:
  Search(const Problem& problem, const SearchLimits& limits);

  // Whether there is a solution. Errors are fatal in the scheduler, too, except AllocationUndecided.
  Result<bool> Run();

  // The solution: by claim, in the order of choice; and which option each request of a claim took.
  const std::vector<std::vector<Choice>>& choices() const { return choices_; }
  const std::vector<std::vector<std::uint32_t>>& selected() const { return selected_; }

  // How often a device was looked for: the scheduler's measure of work.
  std::uint64_t steps() const { return steps_; }

 private:
  enum class End : std::uint8_t {
    kFound,
    kDead,     // No solution from here.
    kTooMany,  // More devices than a claim can hold: other devices do not help, other options may.
    kFailed,   // error_ says why.
  };
  enum class Try : std::uint8_t { kTaken, kNot, kFailed };

  // What an attempt takes of a shareable device.
  struct Shares {
    std::uint32_t count = 0;
    Amounts consumed;
  };

  // Each is one step.
  End EnterRequest(std::uint32_t claim, std::uint32_t request);
  End EnterOption(std::uint32_t option, std::uint64_t number, std::uint32_t start);

  End TryOptions(const PlannedRequest& request);
  End Place(std::uint32_t number, std::uint64_t placed, std::uint32_t start);
  End PlaceFixed(std::uint32_t number, std::uint64_t placed);
  End Walk(std::uint32_t number, std::uint64_t placed, std::uint32_t start);

  Try Look(std::uint32_t number, std::uint32_t device);  // An ExactCount candidate: its selectors, then Take().
  Try Take(std::uint32_t number, std::uint32_t device, bool fixed);
  void GiveBack();  // The claim's last choice.

  bool InUse(const Option& option, std::uint32_t device) const;
  Fit CapacityFit(const Option& option, std::uint32_t device) const;
  bool ReserveCounters(const Candidate& candidate);
  void ReleaseCounters(const Candidate& candidate);
  bool AddToConstraints(const Option& option, const Candidate& candidate);
  void RemoveFromConstraints(const Option& option, std::size_t count);
  ConstraintState& StateOf(const Option& option, std::size_t index);
  void Record(std::uint32_t number, std::uint32_t device, bool counters);

  const Pool* FirstInvalidPool() const;
  bool CutOff(std::uint32_t number, std::uint64_t placed, std::uint32_t start) const;
  bool TriedATwin(std::uint32_t device, std::uint32_t start) const;
  bool Step();
  void AfterDeadEnd();
  End Fail(Error error);
  End FailAt(const Pool& invalid);
  Try Refuse(Error error);

  const Problem& problem_;
  const SearchLimits limits_;
  std::vector<std::vector<Choice>> choices_;          // By claim.
  std::vector<std::vector<std::uint32_t>> selected_;  // By claim and request.
  std::vector<std::uint32_t> taken_;             // By device: how many claims of the attempt have it, shares apart.
  std::map<std::uint32_t, Shares> shares_;       // By device.
  std::vector<std::vector<Quantity>> consumed_;  // By pool and counter; empty until the pool is drawn from.
  std::vector<ConstraintState> constraints_;     // Of all claims.
  std::vector<bool> overdrawn_;                  // By pool.
  const Pool* barrier_ = nullptr;                // Where Rules::invalid_pool_is_fatal: the first that is.
  std::vector<std::pair<std::uint32_t, bool>>
      undo_;  // By choice, over all claims: its claim, and whether it drew counters.
  std::optional<Outlook> outlook_;
  bool looked_ahead_ = false;
  std::uint64_t steps_ = 0;
  std::optional<Error> error_;
};

}  // namespace tessera::alloc
