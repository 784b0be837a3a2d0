#include "local/podman_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "json/value.h"

namespace tessera::local {
namespace {

using ::testing::ElementsAre;

TEST(PodmanFlags, SayWhatTheEditsOfSpecAndDevicesSay) {
  const TempDir dir = TempDir::Create("podman-flags").value();
  cdi::Spec spec{.kind = "k8s.gpu.nvidia.com/claim"};
  spec.edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  spec.edits.mounts = {{.host_path = "/opt/lib.so", .container_path = "/usr/lib.so", .options = {"ro", "rbind"}},
                       {.host_path = "/var/state", .container_path = "/state", .options = {"rw"}}};
  spec.edits.hooks = {{.name = "createContainer", .path = "/usr/bin/hook", .args = {"hook", "update-ldcache"}}};
  spec.devices = {
      {.name = "gpu-3", .edits = {.device_nodes = {{.path = "/dev/nvidia3"}}}},
      {.name = "gpu-5", .edits = {.device_nodes = {{.path = "/dev/nvidia5", .host_path = "/driver/dev/nvidia5"}}}}};
  const auto flags = PodmanFlags({spec}, dir.path() / "hooks");
  ASSERT_TRUE(flags.has_value()) << flags.error().Text();
  EXPECT_THAT(*flags,
              ElementsAre("--env=NVIDIA_VISIBLE_DEVICES=void", "--mount=type=bind,src=/opt/lib.so,dst=/usr/lib.so,ro",
                          "--mount=type=bind,src=/var/state,dst=/state", "--device=/dev/nvidia3:/dev/nvidia3",
                          "--device=/driver/dev/nvidia5:/dev/nvidia5", "--hooks-dir=" + (dir.path() / "hooks").string(),
                          "--group-add=keep-groups"));
  EXPECT_EQ(json::ParseJson(ReadFile(dir.path() / "hooks/000.json").value()).value(), json::ParseJson(R"({
    "version": "1.0.0", "when": {"always": true}, "stages": ["createContainer"],
    "hook": {"path": "/usr/bin/hook", "args": ["hook", "update-ldcache"], "env": []}})")
                                                                                          .value());
}

}  // namespace
}  // namespace tessera::local
