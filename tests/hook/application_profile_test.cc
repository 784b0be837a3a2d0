// update-application-profile: which GPUs EGL and Vulkan may see.
#include <sys/stat.h>

#include "tests/hook/hook_fixture.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const std::string kProfile = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";

TEST_P(HookTest, TheProfileNamesTheGpusOfTheContainer) {
  if (!MakeDevice("/dev/nvidia0", 195, 0)) GTEST_SKIP() << "device nodes are not permitted here (CAP_MKNOD)";
  for (const auto& [name, minor] : {std::pair("nvidia7", 7),
                                    {"nvidia64", 64},
                                    {"nvidiactl", 255},
                                    {"nvidia", 3},
                                    {"nvidia5x", 5},
                                    {"nvidia-uvm", 1},
                                    {"nvidia63", 63}}) {
    ASSERT_TRUE(MakeDevice(std::string("/dev/") + name, 195, static_cast<unsigned>(minor)));
  }
  Put("/dev/nvidia2", "a file");
  Link("/dev/nvidia4", "nvidia0");
  for (int i = 0; i < 2; ++i) {
    const Outcome result = Run({"update-application-profile"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Read(kProfile),
              R"({"profiles":[{"name":"_container_","settings":["EGLVisibleDGPUDevices",0x8000000000000081]}],)"
              R"("rules":[{"pattern":[],"profile":"_container_"}]})");
  }
  struct stat status{};
  ASSERT_EQ(::stat((root() / kProfile.substr(1)).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0444U);
}

TEST_P(HookTest, WithoutGpusThereIsNoProfile) {
  fs::create_directories(root() / "dev");
  EXPECT_EQ(Run({"update-application-profile"}).code, 0);
  fs::remove(root() / "dev");
  EXPECT_EQ(Run({"update-application-profile"}).code, 0);
  EXPECT_THAT(Names("/etc"), IsEmpty());
}

TEST_P(HookTest, TheProfileIsNotWrittenOutside) {
  if (!MakeDevice("/dev/nvidia0", 195, 0)) GTEST_SKIP() << "device nodes are not permitted here (CAP_MKNOD)";
  for (const std::string& link : {std::string("/etc"), std::string("/etc/nvidia"), kProfile}) {
    fs::remove_all(root() / "etc");
    Link(link, outside().string());
    EXPECT_EQ(Run({"update-application-profile"}).code, link == kProfile ? 0 : 1);
  }
}

}  // namespace
}  // namespace tessera::tests
