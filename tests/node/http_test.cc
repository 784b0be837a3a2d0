// Probes and metrics.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/text.h"
#include "tests/node/node.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere.

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// promtool's verdict: empty when it has nothing to say. Its standard input and output are files.
std::string Promtool(const fs::path& dir, const std::string& metrics) {
  EXPECT_TRUE(ReplaceFile(dir / "metrics", metrics).has_value());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, (dir / "metrics").c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, (dir / "verdict").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  char program[] = "promtool";
  char check[] = "check";
  char what[] = "metrics";
  char* arguments[] = {program, check, what, nullptr};
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawnp(&pid, program, &actions, nullptr, arguments, environ), 0) << "promtool: tools/setup test";
  ::posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status == 0 ? "" : ReadFile(dir / "verdict").value_or("?") + "!";
}

TEST(Http, ProbesAskTheServicesThemselves) {
  Node node;
  const std::uint16_t port = Node::FreePort();
  const auto plugin = node.StartReady({Format("--http-endpoint=127.0.0.1:{}", port)});
  EXPECT_THAT(Node::HttpGet(port, "/healthz"), StartsWith("200 ok"));
  EXPECT_TRUE(Eventually([&] { return Node::HttpGet(port, "/readyz").starts_with("200"); }))
      << Node::HttpGet(port, "/readyz");
  EXPECT_THAT(Node::HttpGet(port, "/other"), StartsWith("404"));
  fs::remove(node.plugin_dir() / "dra.sock");  // The process lives, but no kubelet can reach it.
  EXPECT_THAT(Node::HttpGet(port, "/healthz"), StartsWith("503"));
}

TEST(Http, MetricsSayWhatHappenedAndPromtoolReadsThem) {
  Node node;
  const std::uint16_t port = Node::FreePort();
  const auto plugin = node.StartReady({Format("--http-endpoint=127.0.0.1:{}", port)});
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  (void)node.Prepare(node.MakeClaim("b", {"gpu-0"}));
  std::string metrics = Node::HttpGet(port, "/metrics");
  ASSERT_THAT(metrics, StartsWith("200 "));
  metrics.erase(0, 4);
  EXPECT_EQ(Promtool(node.dir(), metrics), "");
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(0).uuid;
  for (const std::string& line :
       {std::string("tessera_request_duration_seconds_count{method=\"prepare\",phase=\"total\",outcome=\"ok\"} 1"),
        std::string("tessera_request_duration_seconds_count{method=\"prepare\",phase=\"api-get\",outcome=\"ok\"} 2"),
        std::string("tessera_request_duration_seconds_bucket{method=\"prepare\",phase=\"total\",outcome=\"ok\",le=\"0."
                    "153413\"}"),
        std::string("tessera_errors_total{method=\"prepare\",code=\"DeviceInUse\",kind=\"transient\"} 1"),
        std::string("tessera_prepared_devices{type=\"gpu\"} 1"), std::string("tessera_devices{type=\"gpu\"} 8"),
        std::string("tessera_kubelet_registered 1"), std::string("tessera_slices_published 1"),
        std::string("tessera_slice_writes_total{verb=\"create\"} 1"), std::string("tessera_journal_claims 1"),
        std::string("nvidia_dra_requests_total{driver=\"gpu.nvidia.com\",operation=\"prepare\"} 1"),
        std::string("nvidia_dra_prepared_devices{node=\"node-a\",driver=\"gpu.nvidia.com\",device_type=\"gpu\"} 1"),
        std::string("nvidia_dra_node_prepare_errors_total{driver=\"gpu.nvidia.com\",error_type=\"prepare_devices\"} 1"),
        std::string("tessera_build_info{version="), std::string("process_resident_memory_bytes "),
        Format("tessera_claim_device_info{{namespace=\"default\",claim=\"a\",claim_uid=\"{}\",pod=\"default/pod-a\","
               "device=\"gpu-0\",type=\"gpu\",uuid=\"{}\",parent_uuid=\"\"}} 1",
               claim.uid, uuid)}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  EXPECT_THAT(metrics, ::testing::Not(HasSubstr("dra_grpc_operations_duration_seconds")));  // The kubelet's own.
}

}  // namespace
}  // namespace tessera::tests
