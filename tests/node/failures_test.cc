// The node never wedges: whatever is missing, the plugin starts, registers, answers Unprepare and says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"
#include "tests/node/node.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using standin::Fault;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Calls of the plugin below `folder` fail as `fault` says ("write:ENOSPC") while the file `switch_file` exists.
std::map<std::string, std::string> Failing(const fs::path& folder, const std::string& fault,
                                           const fs::path& switch_file) {
  return {{"LD_PRELOAD", TESSERA_BINARY_DIR "/tests/die_at.so"}, {"TESSERA_DIE_DIRS", folder.string()},
          {"TESSERA_DIE_EXE", "tessera-kubelet-plugin"},         {"TESSERA_FAIL_CALL", fault},
          {"TESSERA_FAIL_WHEN", switch_file.string()},           kAllowPreload};
}

TEST(WithoutADriver, ItRegistersAnswersUnprepareAndSaysWhatIsMissing) {
  Node node({.with_driver = false});
  const std::uint16_t port = Node::FreePort();
  const auto plugin = node.Start({Format("--http-endpoint=127.0.0.1:{}", port)});
  ASSERT_TRUE(node.WaitRegistered()) << plugin->Log();
  EXPECT_TRUE(node.Unprepare({"default", "left-over", "00000000-0000-0000-0000-000000000001"}).ok());
  EXPECT_TRUE(node.api().WaitObjects(kSlicesPath, [](const auto& slices) { return slices.size() == 1; }, kPatience));
  EXPECT_EQ(node.PublishedDevices(), 0U);  // "Up, but nothing to offer" is not "not there".
  EXPECT_TRUE(plugin->WaitForLog("libnvidia-ml.so.1"));
  const auto answer = node.Prepare(node.MakeClaim("a", {"gpu-0"}));
  EXPECT_THAT(answer.error, HasSubstr("libnvidia-ml.so.1"));
  EXPECT_THAT(Node::HttpGet(port, "/healthz"), StartsWith("200"));
  EXPECT_THAT(Node::HttpGet(port, "/readyz"), StartsWith("503"));
  EXPECT_THAT(Node::HttpGet(port, "/metrics"), HasSubstr("tessera_nvidia_driver_up 0"));
}

TEST(WithoutADriver, ItIsServedWhenItComes) {
  Node node;
  const fs::path root = node.driver_root();
  fs::rename(root / "usr", root / "usr.away");
  const auto plugin = node.Start();
  ASSERT_TRUE(node.WaitRegistered());
  ASSERT_TRUE(plugin->WaitForLog("The NVIDIA driver does not answer"));
  fs::rename(root / "usr.away", root / "usr");
  EXPECT_TRUE(node.WaitPublished(8)) << plugin->Log();
}

TEST(WithAHangingNvml, ItServes) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  node.gpus().Update([](sim::Machine& machine) { machine.faults.push_back({.function = "*", .hang_ms = 3'600'000}); });
  (void)node.kubelet().Prepare(kDriver, {node.MakeClaim("b", {"gpu-99"})},
                               std::chrono::seconds(5));  // Makes it ask NVML.
  EXPECT_TRUE(node.Unprepare(claim).ok());
  node.kubelet().Restart();
  EXPECT_TRUE(node.WaitRegistered());
}

TEST(WithoutTheApiServer, ItRegistersAnswersUnprepareAndRepeats) {
  Node node;
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  const auto other = node.MakeClaim("b", {"gpu-1"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  // Noted after the answer. Without it a claim is set up again, which takes an API server.
  ASSERT_TRUE(Eventually([&] { return ReadFile(node.plugin_dir() / "journal")->contains("\"op\":\"complete\""); }));
  plugin.reset();
  node.api().Pause();
  plugin = node.Start();
  ASSERT_TRUE(node.WaitRegistered()) << plugin->Log();
  Kubelet::Answer repeated;  // From the journal.
  EXPECT_TRUE(Eventually([&] { return (repeated = node.Prepare(claim)).ok(); })) << repeated.error << plugin->Log();
  const auto refused = node.kubelet().Prepare(kDriver, {other}, std::chrono::seconds(6));
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(node.Unprepare(claim).ok());
  ASSERT_TRUE(node.api().Resume().has_value());
  EXPECT_TRUE(node.Prepare(other).ok());
}

TEST(WithHungApiCalls, UnprepareIsAnswered) {
  Node node;
  const auto plugin = node.StartReady();
  const auto done = node.MakeClaim("done", {"gpu-7"});
  ASSERT_TRUE(node.Prepare(done).ok());
  const auto hang =
      node.api().faults().Add({.method = "GET", .path = "/resourceclaims/", .times = -1, .kind = Fault::Kind::kHang});
  std::vector<std::jthread> pods;
  for (int i = 0; i < 40; ++i) {
    pods.emplace_back([&, i] { (void)node.Prepare(node.MakeClaim("hung-" + std::to_string(i), {"gpu-0"})); });
  }
  ASSERT_TRUE(node.api().faults().WaitHanging(30, kPatience));
  EXPECT_TRUE(node.Unprepare(done).ok());
  node.api().faults().Remove(hang);
}

TEST(TransientFailures, AreRetriedInsideTheCall) {
  Node node;
  const auto plugin = node.StartReady();
  node.api().faults().Add({.method = "GET", .path = "/resourceclaims/", .times = 2, .status = 500});
  node.api().faults().Add({.method = "GET", .path = "/resourceclaims/", .times = 1, .kind = Fault::Kind::kClose});
  node.api().faults().Add({.method = "GET", .path = "/resourceclaims/", .times = 1, .status = 429, .retry_after = 1});
  EXPECT_TRUE(node.Prepare(node.MakeClaim("a", {"gpu-0"})).ok());  // The kubelet would wait a minute and more.
}

TEST(WithAFullDisk, ClaimsAreRefusedAndUnpreparedAndTheNodeRecovers) {
  Node node;
  const fs::path full = node.dir() / "disk-is-full";
  const auto plugin = node.StartReady({}, Failing(node.plugin_dir(), "write:ENOSPC,fallocate:ENOSPC", full));
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok()) << plugin->Log();
  ASSERT_TRUE(ReplaceFile(full, "").has_value());
  const auto refused = node.MakeClaim("b", {"gpu-1"});
  EXPECT_FALSE(node.Prepare(refused).ok());
  EXPECT_TRUE(node.Unprepare(claim).ok());
  fs::remove(full);
  EXPECT_TRUE(node.Prepare(refused).ok()) << plugin->Log();
  EXPECT_TRUE(node.Prepare(node.MakeClaim("c", {"gpu-0"})).ok());  // It was freed.
}

TEST(WithAFullDisk, ItStarts) {
  Node node;
  const fs::path full = node.dir() / "disk-is-full";
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  plugin.reset();
  ASSERT_TRUE(ReplaceFile(full, "").has_value());
  plugin = node.Start({}, Failing(node.plugin_dir(), "write:ENOSPC,fallocate:ENOSPC", full));
  ASSERT_TRUE(node.WaitRegistered()) << plugin->Log();
  EXPECT_TRUE(Eventually([&] { return node.Unprepare(claim).ok(); }));
}

TEST(WithAReadOnlyCdiDirectory, PrepareSaysSoAndUnprepareSucceeds) {
  Node node;
  const fs::path locked = node.dir() / "read-only";
  const auto plugin = node.StartReady({}, Failing(node.cdi_dir(), "open:EROFS,unlink:EROFS,rename:EROFS", locked));
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok()) << plugin->Log();
  ASSERT_TRUE(ReplaceFile(locked, "").has_value());
  const auto refused = node.MakeClaim("b", {"gpu-1"});
  EXPECT_THAT(node.Prepare(refused).error, HasSubstr("Read-only file system"));
  EXPECT_TRUE(node.WaitForEvent("b", "CdiWriteFailed"));
  EXPECT_TRUE(node.Unprepare(claim).ok());
  EXPECT_TRUE(node.Unprepare(refused).ok());
}

TEST(Flags, AreTheGoDriversAndUnknownOnesAreRefusedWithANearMatch) {
  Node node;
  struct Case {
    std::vector<std::string> arguments;
    std::string_view text;
  };
  const Case cases[] = {
      {{"--cdi-rot=/x"}, "did you mean --cdi-root?"},
      {{"--feature-gates=DynamicMig=true"}, "did you mean DynamicMIG?"},
      {{"--feature-gates=DynamicMIG=maybe"}, "must be true or false"},
      {{"--node-name=UPPER"}, "is no node name"},
      {{"--exclude-devices=x"}, "no UUID, index, device name or CEL expression"},
      {{"--consumable-shares=4"}, "is not served yet"},
      {{"--kubeconfig=/nonexistent"}, "/nonexistent"},
      {{"--healthcheck-port=70000"}, "70000"},
  };
  for (const Case& c : cases) {
    const auto plugin = node.Start(c.arguments);
    EXPECT_EQ(plugin->Wait(), 2) << c.text;
    EXPECT_THAT(plugin->Log(), HasSubstr(c.text));
  }
  const auto plugin = node.StartReady({"--namespace=gpu", "--image-name=x", "-v=4", "--log-json-split-stream=true",
                                       "--feature-gates=DynamicMIG=true,TimeSlicingSettings=false,"});
  EXPECT_TRUE(plugin->WaitForLog("feature gate DynamicMIG is accepted, but this version does not serve it"));
}

}  // namespace
}  // namespace tessera::tests
