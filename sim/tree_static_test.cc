#include <dlfcn.h>
#include <gmock/gmock.h>

#include "json/value.h"
#include "sim/elf.h"
#include "sim/tree_test.h"

namespace tessera::sim {
namespace {

using ::testing::HasSubstr;
using TreeStatic = TreeTest;

const std::string kTriplet = Format("{}-linux-gnu", kArchitectureName);

TEST_F(TreeStatic, StaticPartHasLibrariesProgramsAndFirmware) {
  const auto done = WriteTree(root_, TwoGpus(), Options());
  ASSERT_TRUE(done.has_value()) << done.error().Text();
  const fs::path libraries = root_ / "usr/lib" / kTriplet;
  const std::map<std::string_view, std::string_view> links{{"libnvidia-ml.so.1", "libnvidia-ml.so.580.159.04"},
                                                           {"libcuda.so.1", "libcuda.so.580.159.04"},
                                                           {"libcuda.so", "libcuda.so.1"},
                                                           {"libnvidia-nvvm.so.4", "libnvidia-nvvm.so.580.159.04"},
                                                           {"libGLX_nvidia.so.0", "libGLX_nvidia.so.580.159.04"}};
  for (const auto& [name, target] : links) EXPECT_EQ(fs::read_symlink(libraries / name), target);
  for (const auto& entry : fs::directory_iterator(libraries)) {
    if (entry.is_symlink() || entry.is_directory()) continue;
    EXPECT_TRUE(entry.path().string().ends_with(".so.580.159.04"));
    EXPECT_TRUE(DynamicSymbols(ReadFile(entry.path()).value()).has_value()) << entry.path();
  }
  EXPECT_THAT(ReadFile(libraries / "libnvidia-glcore.so.580.159.04").value(),
              HasSubstr("libnvidia-glcore.so.580.159.04"));
  EXPECT_EQ(Stat("usr/bin/nvidia-smi").st_mode & 07777U, 0755U);
  EXPECT_EQ(Read("usr/bin/nvidia-smi"), ReadFile("/bin/true").value());
  EXPECT_EQ(Stat("usr/bin/nvidia-cuda-mps-control").st_mode & 07777U, 0755U);
  EXPECT_TRUE(Exists("lib/firmware/nvidia/580.159.04/gsp_ga10x.bin"));
  EXPECT_TRUE(S_ISSOCK(Stat("run/nvidia-persistenced/socket").st_mode));
}

TEST_F(TreeStatic, AnotherDriverVersionReplacesTheOldFiles) {
  ASSERT_TRUE(WriteTree(root_, TwoGpus(), Options()).has_value());
  const fs::path libraries = root_ / "usr/lib" / kTriplet;
  ASSERT_TRUE(ReplaceFile(libraries / "libc.so.6", "mine").has_value());
  Machine newer = TwoGpus();
  newer.driver_version = "590.10.01";
  ASSERT_TRUE(WriteTree(root_, newer, Options()).has_value());
  EXPECT_EQ(fs::read_symlink(libraries / "libcuda.so.1"), "libcuda.so.590.10.01");
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    EXPECT_FALSE(entry.path().string().ends_with("580.159.04")) << entry.path();
  }
  EXPECT_TRUE(fs::exists(libraries / "libc.so.6"));
}

TEST_F(TreeStatic, AnOlderDriverLacksTheNewerFunctions) {
  Machine machine = TwoGpus();
  machine.nvml_header = "12.0";
  for (const std::string_view sample : {"gnu", "sysv"}) {
    SCOPED_TRACE(sample);
    const auto done = WriteTree(root_, machine, Options(sample));
    ASSERT_TRUE(done.has_value()) << done.error().Text();
    void* library = ::dlopen((root_ / "usr/lib" / kTriplet / "libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    EXPECT_NE(::dlsym(library, "nvmlInit_v2"), nullptr);
    EXPECT_EQ(::dlsym(library, "nvmlDeviceGetAccountingStats_v2"), nullptr);
    ::dlclose(library);
  }
}

TEST_F(TreeStatic, SaysWhatIsMissingAndWhatCannotBeRead) {
  TreeOptions options = Options();
  options.nvidia_smi.clear();
  const auto done = WriteTree(root_ / "made", TwoGpus(), options);
  ASSERT_TRUE(done.has_value()) << done.error().Text();
  EXPECT_EQ(done->back(), "usr/bin/nvidia-smi: no stand-in was given");
  EXPECT_FALSE(Exists("made/usr/bin/nvidia-smi"));

  options.library = "/absent/libnvidia-ml.so.1";
  EXPECT_THAT(WriteTree(root_, TwoGpus(), options).error().message(), HasSubstr("/absent/libnvidia-ml.so.1"));
  options.library = "/bin/sh";
  Machine older = TwoGpus();
  older.nvml_header = "12.0";
  EXPECT_THAT(WriteTree(root_, older, options).error().message(), HasSubstr("making an older NVML of /bin/sh"));
}

TEST_F(TreeStatic, CdiFileMountsTheStateWhereTheLibraryLooks) {
  ASSERT_TRUE(WriteTree(root_ / "a/..", TwoGpus(), Options()).has_value());
  const std::string text = Read("etc/cdi/tessera-sim.yaml");
  const auto documents = json::ParseYaml(text);
  ASSERT_TRUE(documents.has_value()) << text;
  ASSERT_EQ(documents->size(), 1U);
  EXPECT_EQ(json::PrintJson(documents->front()),
            Format(R"({{"cdiVersion":"0.5.0","kind":"tessera-sim/state","devices":[{{"name":"all","containerEdits":)"
                   R"({{"mounts":[{{"hostPath":"{}/var/lib/tessera-sim","containerPath":"/var/lib/tessera-sim",)"
                   R"("options":["nosuid","nodev","rbind","rprivate"]}}]}}}}]}})",
                   fs::canonical(root_).string()));
}

}  // namespace
}  // namespace tessera::sim
