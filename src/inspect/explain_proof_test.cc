#include "inspect/explain_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::map<std::string, bool> kNoGates;

TEST(ProofFor, TheComparedReleasesWithTheirGatesAreProven) {
  for (const std::string version : {"v1.36.4", "v1.36.4-eks-1a2b", "v1.37.1+k3s1"}) {
    EXPECT_THAT(ProofFor({.server = "https://s", .version = version, .gates = kNoGates}).not_proven, IsEmpty())
        << version;
  }
  EXPECT_EQ(ProofFor({.version = "v1.36.4", .gates = kNoGates}).rules.release, cel::Release::k1_36);
}

TEST(ProofFor, OtherPatchReleasesAreNotProven) {
  constexpr std::string_view kCounters = "keeps the counters of partitionable devices in another way";
  struct Case {
    std::string version, why;
  };
  const std::vector<Case> cases{
      {"v1.36.0", Format("Kubernetes v1.36.0, which {}; the rules of 1.36.4 are used", kCounters)},
      {"v1.36.3+k3s1", Format("Kubernetes v1.36.3+k3s1, which {}; the rules of 1.36.4 are used", kCounters)},
      {"v1.36.5", "Kubernetes v1.36.5; the rules of 1.36.4 are used"},
      {"v1.37.0", "Kubernetes v1.37.0; the rules of 1.37.1 are used"},
      {"v1.37.1-rc.0", "Kubernetes v1.37.1-rc.0; the rules of 1.37.1 are used"},
      {"v1.37.10", "Kubernetes v1.37.10; the rules of 1.37.1 are used"},
      {"v1.37", "Kubernetes v1.37, whose patch release is unknown; the rules of 1.37.1 are used"},
  };
  for (const auto& [version, why] : cases) {
    EXPECT_THAT(ProofFor({.server = "https://s", .version = version, .gates = kNoGates}).not_proven, ElementsAre(why));
  }
}

TEST(ProofFor, FilesThatAskForTheRulesOfAReleaseGetThem) {
  for (const std::string version : {"1.36", "1.37"}) {
    EXPECT_THAT(ProofFor({.version = version, .gates_unknown = "files do not say"}).not_proven, IsEmpty()) << version;
  }
}

TEST(ProofFor, OtherReleasesUseTheNearestRulesAndSaySo) {
  const Proof old = ProofFor({.version = "v1.33.2", .gates = kNoGates});
  EXPECT_EQ(old.release, "1.34");
  EXPECT_THAT(old.not_proven, ElementsAre("Kubernetes v1.33.2; the rules of 1.34 are used"));
  EXPECT_THAT(ProofFor({.version = "v1.38.0", .gates = kNoGates}).not_proven, ElementsAre(HasSubstr("rules of 1.37")));
  EXPECT_THAT(ProofFor({.version = "v1.35.0", .gates = kNoGates}).not_proven, ElementsAre(HasSubstr("random order")));
  EXPECT_THAT(ProofFor({.gates = kNoGates}).not_proven, ElementsAre(HasSubstr("unknown")));
}

TEST(ProofFor, AnUnusualGateChangesTheRulesAndIsNotProven) {
  const Proof proof =
      ProofFor({.version = "v1.37.1",
                .gates = std::map<std::string, bool>{
                    {"DRADeviceTaints", false}, {"DRAAdminAccess", true}, {"DRADerivedAttributes", true}}});
  EXPECT_FALSE(proof.rules.gates.device_taints);
  EXPECT_EQ(proof.gates, "DRADeviceTaints=false, DRADerivedAttributes=true");
  EXPECT_THAT(proof.not_proven,
              ElementsAre("feature gate DRADeviceTaints=false", "feature gate DRADerivedAttributes=true"));
}

TEST(ProofFor, UnknownGatesOfAClusterAreNotProven) {
  const Proof proof = ProofFor({.server = "https://s", .version = "v1.37.1", .gates_unknown = "forbidden"});
  EXPECT_EQ(proof.gates, "unknown; the release's defaults are assumed");
  EXPECT_THAT(proof.not_proven, ElementsAre("feature gates unknown: forbidden"));
  EXPECT_TRUE(proof.rules.gates.device_taints);
}

TEST(GateOf, ReadsTheApiServersMetric) {
  EXPECT_EQ(GateOf(R"(kubernetes_feature_enabled{name="DRAAdminAccess",stage="BETA"} 1)"),
            std::pair(std::string("DRAAdminAccess"), true));
  EXPECT_EQ(GateOf(R"(kubernetes_feature_enabled{name="X",stage="ALPHA"} 0)"), std::pair(std::string("X"), false));
  EXPECT_EQ(GateOf("# TYPE kubernetes_feature_enabled gauge"), std::nullopt);
  EXPECT_EQ(GateOf(R"(other{name="X"} 1)"), std::nullopt);
}

}  // namespace
}  // namespace tessera::inspect
