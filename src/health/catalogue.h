// health/catalogue.h: what can be wrong with a GPU, as data: xids.yaml and reasons.yaml, compiled in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "health/terms.h"

namespace tessera::health {

// How a finding is judged, and when it goes away again.
struct Rule {
  Severity severity = Severity::kNone;
  Mode mode = Mode::kTaint;
  Proof proof = Proof::kGone;
  std::chrono::seconds confirm{0}, hold{0}, quiet{0};
  std::uint64_t threshold = 1;     // That many …
  std::chrono::seconds window{0};  // … within this time.
  // A person set the severity of this very code or reason: it counts more than what a signal or the driver says.
  bool pinned = false;
  bool operator==(const Rule&) const = default;
};

// One entry of reasons.yaml.
struct ReasonInfo {
  Kind kind = Kind::kXid;
  Class cls = Class::kUnknown;
  std::string taint;  // The key, after "gpu.nvidia.com/".
  Source source = Source::kPoll;
  Rule rule;
  std::string meaning, next;
};

// One entry of xids.yaml.
struct XidInfo {
  std::vector<std::uint64_t> codes;  // That share all of the following.
  std::string mnemonic, meaning;
  Class cls = Class::kUnknown;
  std::string action;
};

struct ActionInfo {
  std::string name;
  Rule rule;
  std::string next;
};

// Immutable; lives as long as the process.
class Catalogue {
 public:
  static const Catalogue& Get();

  const ReasonInfo& Reason(Kind kind) const { return reasons_.at(static_cast<std::size_t>(kind)); }
  // The entry of the code; of codes that nobody knows, one that says so.
  const XidInfo& Xid(std::uint64_t code) const;
  bool KnowsXid(std::uint64_t code) const { return by_code_.contains(code); }
  const ActionInfo& Action(std::string_view name) const;

  const std::vector<ReasonInfo>& reasons() const { return reasons_; }
  const std::vector<XidInfo>& xids() const { return xids_; }
  const std::vector<ActionInfo>& actions() const { return actions_; }
  const XidInfo& unknown() const { return unknown_; }

 private:
  Catalogue();

  std::vector<ReasonInfo> reasons_;  // By kind.
  std::vector<XidInfo> xids_;
  std::vector<ActionInfo> actions_;
  XidInfo unknown_;
  std::unordered_map<std::uint64_t, std::size_t> by_code_;  // Into xids_.
};

}  // namespace tessera::health
