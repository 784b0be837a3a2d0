// `tessera explain` on a cluster: the API server's stand-in, through a kubeconfig.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "json/value.h"
#include "tests/standin/api_server.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kResource = "/apis/resource.k8s.io/v1/";

std::string CollectionOf(const json::Value& object) {
  const std::string_view kind = object.at("kind").as_string();
  const json::Value* ns = object.at("metadata").as_object().if_contains("namespace");
  const std::string in = ns != nullptr ? Format("namespaces/{}/", std::string_view(ns->as_string())) : "";
  if (kind == "Node") return "/api/v1/nodes";
  if (kind == "Pod") return Format("/api/v1/{}pods", in);
  if (kind == "Event") return Format("/api/v1/{}events", in);
  std::string plural = Lower(kind) + (kind.ends_with("ss") ? "es" : "s");
  return Format("{}{}{}", kResource, in, plural);
}

class ExplainCluster : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_->WriteKubeconfig(kubeconfig_).has_value());
    for (const std::string type : {"gpu", "mig"}) {
      Put(Format(
          "{{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: {0}.nvidia.com}}, spec: {{selectors: "
          "[{{cel: {{expression: \"device.attributes['gpu.nvidia.com'].type == '{0}'\"}}}}]}}}}",
          type));
    }
    PutFile("nodes.yaml");
  }

  void Put(const std::string& yaml) {
    const auto documents = json::ParseYaml(yaml);
    ASSERT_TRUE(documents.has_value()) << documents.error().Text();
    for (const json::Value& object : *documents) {
      const auto created = server_->Create(CollectionOf(object), object);
      ASSERT_TRUE(created.has_value()) << created.error().Text();
    }
  }
  void PutFile(const std::string& name) {
    Put(ReadFile(std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/testdata/explain" / name).value());
  }

  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig_});
    return RunProgram("tessera", arguments);
  }

  void Refuse(const std::string& path, int status) {
    server_->faults().Add({.method = "GET", .path = path, .times = -1, .status = status});
  }

  std::unique_ptr<standin::ApiServer> server_ = standin::ApiServer::Start().value();
  TempDir dir_ = TempDir::Create("explain").value();
  const std::string kubeconfig_ = dir_.path() / "kubeconfig";
};

TEST_F(ExplainCluster, AClaimThatFitsIsTold) {
  PutFile("fits.yaml");
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("claim default/train fits on node-a"), HasSubstr("Kubernetes v1.36.4"),
                                HasSubstr("feature gates: unknown; the release's defaults are assumed"),
                                HasSubstr("not proven here: feature gates unknown: the API")));
}

TEST_F(ExplainCluster, ReleaseAndGatesAreStatedAndWhatIsNotProven) {
  PutFile("taint.yaml");
  server_->SetRelease("v1.37.1", {{"DRAAdminAccess", true}, {"DRADeviceTaints", true}});
  const Outcome proven = Run({"claim", "train"});
  EXPECT_EQ(proven.code, 1) << proven.err;
  EXPECT_THAT(proven.out, AllOf(HasSubstr("Kubernetes v1.37.1 (https://"),
                                HasSubstr("feature gates: as the release has them"), Not(HasSubstr("not proven"))));
  server_->SetRelease("v1.37.1", {{"DRAAdminAccess", true}, {"DRADeviceTaints", false}});
  const Outcome without_taints = Run({"claim", "train"});
  EXPECT_EQ(without_taints.code, 0) << without_taints.out;
  EXPECT_THAT(without_taints.out, AllOf(HasSubstr("feature gates: DRADeviceTaints=false"),
                                        HasSubstr("not proven here: feature gate DRADeviceTaints=false")));
  server_->SetRelease("v1.36.2", {{"DRAAdminAccess", true}});
  EXPECT_THAT(Run({"claim", "train"}).out, HasSubstr("not proven here: Kubernetes v1.36.2, which keeps the counters"));
  server_->SetRelease("v1.33.5", {});
  EXPECT_THAT(Run({"claim", "train"}).out,
              AllOf(HasSubstr("Kubernetes v1.33.5"), HasSubstr("feature gates unknown: the API"),
                    HasSubstr("not proven here: Kubernetes v1.33.5")));
}

// "1.36.4" where tests/alloc/oracle/go-1.36.mod requires v0.36.4 of the scheduler's allocator.
std::string ComparedWith(std::string_view minor) {
  const auto file = std::filesystem::path(TESSERA_SOURCE_DIR) / Format("tests/alloc/oracle/go-{}.mod", minor);
  const std::string text = ReadFile(file).value();
  const auto found = Cut(text, "k8s.io/dynamic-resource-allocation v0.");
  return found ? Format("1.{}", Cut(found->second, "\n").value().first) : "";
}

TEST_F(ExplainCluster, WhatOurAllocatorIsComparedWithIsProven) {
  PutFile("fits.yaml");
  for (const std::string_view minor : {"1.36", "1.37"}) {
    const std::string release = ComparedWith(minor);
    ASSERT_TRUE(release.starts_with(minor)) << release;
    server_->SetRelease("v" + release, {{"DRAAdminAccess", true}});
    EXPECT_THAT(Run({"claim", "train"}).out,
                AllOf(HasSubstr(Format("Kubernetes v{} (", release)), Not(HasSubstr("not proven"))));
  }
}

TEST_F(ExplainCluster, SaysWhoHoldsTheDevices) {
  PutFile("held.yaml");
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("default/alice (pod default/alice-0)"), HasSubstr("Smallest change:")));
}

TEST_F(ExplainCluster, ATemplateThatIsNotInstantiatedYetIsSaid) {
  PutFile("pod-template.yaml");
  const Outcome result = Run({"pod", "web"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("waits for something else than devices"), HasSubstr("not yet made")));
}

TEST_F(ExplainCluster, SaysWhatPrepareLastSaid) {
  PutFile("pod-prepare-failed.yaml");
  const Outcome result = Run({"pod", "alice-0"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("kubelet on node-a"), HasSubstr("is not registered"), HasSubstr("Ready=False"),
                    HasSubstr("gpu-0 does not answer"), Not(HasSubstr("of another pod"))));
}

TEST_F(ExplainCluster, WhatMayNotBeReadMakesTheAnswerPartial) {
  PutFile("fits.yaml");
  Refuse("/api/v1/nodes", 403);
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("could not be read: Nodes"), HasSubstr("fits on node-a"),
                                HasSubstr("their labels are unknown")));
}

TEST_F(ExplainCluster, WithoutClaimsOfOtherNamespacesItsOwnAreRead) {
  PutFile("fits.yaml");
  Refuse("v1/resourceclaims", 403);
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("could not be read: ResourceClaims of other namespaces"), HasSubstr("fits on")));
}

TEST_F(ExplainCluster, ListsAreReadPageByPage) {
  PutFile("fits.yaml");
  for (int i = 0; i < 25; ++i) {
    Put(
        Format("{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: s{0}}}, spec: {{driver: "
               "other, nodeName: "
               "n{0}, pool: {{name: n{0}, generation: 1, resourceSliceCount: 1}}, devices: [{{name: d}}]}}}}",
               i));
  }
  const Outcome result = Run({"claim", "train", "-o", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_GE(server_->seen().Count(standin::SeenLog::Is("GET", "resourceslices?limit=10&continue=")), 2U);
}

TEST_F(ExplainCluster, OldVersionsOfTheApiAreUnderstood) {
  PutFile("held.yaml");
  server_->SetVersions({"v1beta1"});
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("request gpus: wants 3, 1 of 4 devices usable"));
}

TEST_F(ExplainCluster, TaintRulesAreFoundInTheVersionOfTheRelease) {
  PutFile("taint-rule.yaml");
  server_->SetVersions({"v1", "v1beta2"});
  Refuse("v1/devicetaintrules", 404);
  const Outcome result = Run({"claim", "train"});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("[DeviceTaintRule broken-rack]"));
}

TEST_F(ExplainCluster, WithoutTaintRulesNothingIsMissing) {
  PutFile("fits.yaml");
  for (const std::string version : {"v1", "v1beta2", "v1alpha3"}) Refuse(version + "/devicetaintrules", 404);
  EXPECT_EQ(Run({"claim", "train"}).code, 0);
}

TEST_F(ExplainCluster, AnUnknownClaimIsSaid) {
  const Outcome result = Run({"claim", "nobody"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no claim default/nobody"));
}

TEST_F(ExplainCluster, WithoutAClusterTheExitCodeSaysSo) {
  server_->Pause();
  EXPECT_EQ(Run({"claim", "train"}).code, 3);
  EXPECT_EQ(RunProgram("tessera", {"explain", "claim", "a", "--kubeconfig", "/nonexistent"}).code, 3);
}

TEST_F(ExplainCluster, TheKubeconfigOfTheEnvironmentIsUsed) {
  PutFile("fits.yaml");
  EXPECT_EQ(RunProgram("tessera", {"explain", "claim", "train"}, {"KUBECONFIG=" + kubeconfig_}).code, 0);
}

}  // namespace
}  // namespace tessera::tests
