#include "inspect/explain_proof.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr int kOldestMinor = 34, kNewestMinor = 37;

// The patch releases that tests/alloc/oracle asks.
struct ComparedRelease {
  int minor, patch;
  std::string_view before;  // How older patch releases differ, where that is known.
};
constexpr std::array<ComparedRelease, 2> kCompared{
    {{.minor = 36, .patch = 4, .before = "which keeps the counters of partitionable devices in another way"},
     {.minor = 37, .patch = 1, .before = ""}}};

// Gates that change an allocation in ways that the rules do not follow.
constexpr std::array<std::string_view, 3> kUnfollowedGates{"DRADerivedAttributes", "DRACompatibilityGroups",
                                                           "DRAOptionalNodeOperations"};

struct Version {
  int minor = 0;
  std::optional<int> patch;
  bool preview = false;
};

// The number at the start of the text, which loses it.
std::optional<int> TakeNumber(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = ParseNumber<int>(text.substr(0, end));
  text.remove_prefix(end);
  return number;
}

// Of "v1.36.4", "1.36" or "v1.38.0-rc.1". A vendor's build, "v1.36.4+k3s1" or "v1.36.4-eks-1", is taken for the release
// that it is made of.
std::optional<Version> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  if (!text.starts_with("1.")) return std::nullopt;
  text.remove_prefix(2);
  const auto minor = TakeNumber(text);
  if (!minor) return std::nullopt;
  Version version{.minor = *minor};
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    version.patch = TakeNumber(text);
  }
  version.preview = text.starts_with("-alpha") || text.starts_with("-beta") || text.starts_with("-rc");
  return version;
}

cel::Release ReleaseOf(int minor) {
  constexpr std::array kReleases{cel::Release::k1_34, cel::Release::k1_35, cel::Release::k1_36, cel::Release::k1_37};
  return kReleases[static_cast<std::size_t>(std::clamp(minor, kOldestMinor, kNewestMinor) - kOldestMinor)];
}

// Nothing when the version is the one that was compared. Files only name a minor: they ask for the rules themselves.
std::optional<std::string> WhyNotCompared(const ClusterFacts& facts, const Version& version,
                                          const ComparedRelease& compared) {
  const std::string release = Format("1.{}.{}", compared.minor, compared.patch);
  if (!version.patch) {
    if (facts.server.empty()) return std::nullopt;
    return Format("Kubernetes {}, whose patch release is unknown; the rules of {} are used", facts.version, release);
  }
  if (*version.patch == compared.patch && !version.preview) return std::nullopt;
  if (*version.patch < compared.patch && !compared.before.empty()) {
    return Format("Kubernetes {}, {}; the rules of {} are used", facts.version, compared.before, release);
  }
  return Format("Kubernetes {}; the rules of {} are used", facts.version, release);
}

void JudgeRelease(const ClusterFacts& facts, const std::optional<Version>& version, Proof& proof) {
  if (!version) {
    proof.not_proven.push_back(
        Format("the version of the cluster is unknown; the rules of {} are used", proof.release));
  } else if (version->minor < kOldestMinor || version->minor > kNewestMinor) {
    proof.not_proven.push_back(Format("Kubernetes {}; the rules of {} are used", facts.version, proof.release));
  } else if (const auto compared = std::ranges::find(kCompared, version->minor, &ComparedRelease::minor);
             compared != kCompared.end()) {
    if (auto why = WhyNotCompared(facts, *version, *compared)) proof.not_proven.push_back(*std::move(why));
  } else {
    proof.not_proven.push_back(Format(
        "Kubernetes {} goes through pools in random order; this is one of the answers it may give", facts.version));
  }
}

void JudgeGates(const ClusterFacts& facts, Proof& proof) {
  alloc::Gates gates = proof.rules.gates;
  std::vector<std::string> unusual;
  for (const alloc::NamedGate& known : alloc::kNamedGates) {
    const auto found = facts.gates->find(std::string(known.name));
    if (found == facts.gates->end() || found->second == gates.*known.flag) continue;
    gates.*known.flag = found->second;
    unusual.push_back(Format("{}={}", known.name, found->second));
  }
  for (const std::string_view name : kUnfollowedGates) {
    const auto found = facts.gates->find(std::string(name));
    if (found != facts.gates->end() && found->second) unusual.push_back(Format("{}=true", name));
  }
  proof.rules = alloc::RulesFor(proof.rules.release, gates);
  proof.gates = unusual.empty() ? "as the release has them" : Join(unusual, ", ");
  for (const std::string& gate : unusual) proof.not_proven.push_back(Format("feature gate {}", gate));
}

}  // namespace

Proof ProofFor(const ClusterFacts& facts) {
  const std::optional<Version> version = ParseVersion(facts.version);
  const int used = std::clamp(version ? version->minor : kNewestMinor, kOldestMinor, kNewestMinor);
  Proof proof{.rules = alloc::RulesFor(ReleaseOf(used)), .release = Format("1.{}", used)};
  JudgeRelease(facts, version, proof);
  if (facts.gates) {
    JudgeGates(facts, proof);
  } else {
    proof.gates = "unknown; the release's defaults are assumed";
    if (!facts.server.empty()) proof.not_proven.push_back(Format("feature gates unknown: {}", facts.gates_unknown));
  }
  return proof;
}

std::optional<std::pair<std::string, bool>> GateOf(std::string_view metrics_line) {
  constexpr std::string_view kFamily = "kubernetes_feature_enabled{";
  if (!metrics_line.starts_with(kFamily)) return std::nullopt;
  const auto name = Cut(metrics_line, "name=\"");
  const auto rest = name ? Cut(name->second, "\"") : std::nullopt;
  if (!rest) return std::nullopt;
  return std::pair(std::string(rest->first), metrics_line.ends_with(" 1"));
}

}  // namespace tessera::inspect
