#include "local/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace tessera::local {
namespace {

using ::testing::ElementsAre;

std::string Chosen(const Choice& choice, const std::set<std::string>& installed) {
  const auto runtime = ChooseRuntime(
      choice, [&](const std::string& name) { return installed.contains(name) ? "/usr/bin/" + name : ""; });
  return std::string(runtime ? ToText(*runtime) : runtime.error().code());
}

TEST(Runtime, IsTheFirstThatIsInstalledAndFits) {
  const std::set<std::string> all{"podman", "docker", "nerdctl", "ctr", "crun", "runc"};
  EXPECT_EQ(Chosen({}, all), "crun");
  EXPECT_EQ(Chosen({.unified_cgroups = false}, all), "runc");
  EXPECT_EQ(Chosen({.has_nodes = false}, all), "none");
  EXPECT_EQ(Chosen({}, {"runc"}), "runc");
  EXPECT_EQ(Chosen({}, {}), "none");
  EXPECT_EQ(Chosen({.has_image = true}, all), "podman");
  EXPECT_EQ(Chosen({.has_image = true}, {"ctr", "docker"}), "docker");
  EXPECT_EQ(Chosen({.wanted = "containerd", .has_image = true}, {"ctr", "docker"}), "ctr");
  EXPECT_EQ(Chosen({.wanted = "none"}, all), "none");
}

TEST(Runtime, ThatCannotServeIsExplained) {
  EXPECT_EQ(Chosen({.has_image = true}, {"crun"}), "NoRuntime");
  EXPECT_EQ(Chosen({.wanted = "crun"}, {"runc"}), "NoRuntime");
  EXPECT_EQ(Chosen({.wanted = "podman"}, {"podman"}), "ImageWanted");
  EXPECT_EQ(Chosen({.wanted = "none", .has_image = true}, {"podman"}), "ImageNotWanted");
  EXPECT_EQ(Chosen({.has_image = true, .specs_are_public = false}, {"docker"}), "SpecsNotPublic");
  EXPECT_EQ(Chosen({.has_image = true, .specs_are_public = false}, {"docker", "podman"}), "podman");
}

TEST(Runtime, GetsTheDevicesBeforeTheImageAndTheCommandBehindIt) {
  const ImageRun run{.name = "c",
                     .devices = {"k8s.gpu.nvidia.com/claim=u-gpu-0"},
                     .flags = {},
                     .options = {"--volume=/a:/a"},
                     .image = "image",
                     .command = {"nvidia-smi", "-L"},
                     .has_terminal = false};
  EXPECT_THAT(ImageArguments(Runtime::kDocker, run),
              ElementsAre("docker", "run", "--rm", "--name", "c", "--interactive", "--device",
                          "k8s.gpu.nvidia.com/claim=u-gpu-0", "--volume=/a:/a", "image", "nvidia-smi", "-L"));
  EXPECT_THAT(ImageArguments(Runtime::kCtr, run),
              ElementsAre("ctr", "run", "--rm", "--device", "k8s.gpu.nvidia.com/claim=u-gpu-0", "--volume=/a:/a",
                          "image", "c", "nvidia-smi", "-L"));
}

}  // namespace
}  // namespace tessera::local
