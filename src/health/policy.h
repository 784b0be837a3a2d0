// health/policy.h: what is done about each finding: the catalogue's defaults, changed by a policy file.
//
// docs/health.md describes the file. What is nearer to a case wins: a code or reason over its class, its class over the
// catalogue, and of two of a kind a model's entry over a general one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "health/catalogue.h"
#include "health/terms.h"

namespace tessera::health {

inline constexpr std::size_t kMaxPolicySize = std::size_t{256} << 10;

// What an entry of the file changes of a rule; what is absent stays.
struct RuleChange {
  std::optional<Severity> severity;
  std::optional<Mode> mode;
  std::optional<Proof> proof;
  std::optional<Span> confirm, hold, quiet, window;
  std::optional<std::uint64_t> threshold;
  bool operator==(const RuleChange&) const = default;
};

struct ClassChange {
  std::optional<Severity> severity;
  std::optional<Mode> mode;
  bool operator==(const ClassChange&) const = default;
};

struct RuleChanges {
  std::map<Class, ClassChange> classes;
  std::map<Kind, RuleChange> reasons;
  std::map<std::uint64_t, RuleChange> xids;
  bool operator==(const RuleChanges&) const = default;
};

struct ModelChanges {
  std::string product;  // As the slice's productName says it; a '*' at the end stands for any rest.
  RuleChanges changes;
  bool operator==(const ModelChanges&) const = default;
};

class Policy {
 public:
  Policy() = default;  // The catalogue's defaults.

  // `text` is a policy file; empty text changes nothing. An error names every fault.
  static Result<Policy> Parse(std::string_view text);

  // Numbers separated by commas, as the Go driver's --additional-xids-to-ignore takes them. What is no number is left
  // out and returned, for a warning: the Go driver skips it too.
  std::vector<std::string> IgnoreXids(std::string_view list);

  // Xid's rule is for codes, see below. `product` may be empty.
  Rule RuleFor(Kind kind, std::string_view product) const;
  Rule XidRule(std::uint64_t code, std::string_view product) const;

  std::chrono::seconds lease() const { return lease_; }              // A report is good for so long.
  std::chrono::seconds stale_after() const { return stale_after_; }  // Without news a GPU is unknown.
  std::chrono::seconds history() const { return history_; }          // How long finished claims are remembered.
  Isolation isolation() const { return isolation_; }

  // Whether a polled reason on `hit` of `all` GPUs at once is rather one cause outside of them.
  bool Brakes(std::size_t hit, std::size_t all) const;

  bool operator==(const Policy&) const = default;

 private:
  // The general changes, then those of each model that matches.
  void ForEach(std::string_view product, const std::function<void(const RuleChanges&)>& apply) const;

  std::chrono::seconds lease_{30}, stale_after_{20}, history_{std::chrono::hours{24}};
  Isolation isolation_ = Isolation::kTaint;
  double brake_share_ = 0.5;
  unsigned brake_gpus_ = 2;
  RuleChanges changes_;
  std::vector<ModelChanges> models_;
  std::set<std::uint64_t> ignored_;
};

}  // namespace tessera::health
