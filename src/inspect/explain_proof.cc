#include "inspect/explain_proof.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr int kOldestMinor = 34, kNewestMinor = 37, kOldestProven = 36;

// Gates that change an allocation in ways that the rules do not follow.
constexpr std::array<std::string_view, 4> kUnfollowedGates{"DRAListTypeAttributes", "DRADerivedAttributes",
                                                           "DRACompatibilityGroups", "DRAOptionalNodeOperations"};

// The minor of "v1.36.4+k3s1" or "1.36".
std::optional<int> MinorOf(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  const std::size_t end = std::min(version.find_first_not_of("0123456789"), version.size());
  return ParseNumber<int>(version.substr(0, end));
}

cel::Release ReleaseOf(int minor) {
  constexpr std::array kReleases{cel::Release::k1_34, cel::Release::k1_35, cel::Release::k1_36, cel::Release::k1_37};
  return kReleases[static_cast<std::size_t>(std::clamp(minor, kOldestMinor, kNewestMinor) - kOldestMinor)];
}

void JudgeRelease(const ClusterFacts& facts, std::optional<int> minor, Proof& proof) {
  if (!minor) {
    proof.not_proven.push_back(
        Format("the version of the cluster is unknown; the rules of {} are used", proof.release));
  } else if (*minor < kOldestMinor || *minor > kNewestMinor) {
    proof.not_proven.push_back(Format("Kubernetes {}: the rules of {} are used", facts.version, proof.release));
  } else if (*minor < kOldestProven) {
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
  const std::optional<int> minor = MinorOf(facts.version);
  const int used = std::clamp(minor.value_or(kNewestMinor), kOldestMinor, kNewestMinor);
  Proof proof{.rules = alloc::RulesFor(ReleaseOf(used)), .release = Format("1.{}", used)};
  JudgeRelease(facts, minor, proof);
  if (facts.gates) {
    JudgeGates(facts, proof);
  } else {
    proof.gates = Format("unknown ({}); the release's defaults are assumed", facts.gates_unknown);
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
