// What is found under NVML's name is not always NVML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml/hosted_library.h"
#include "nvml/locate.h"
#include "sim/elf.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LibraryTest : public ::testing::Test {
 protected:
  fs::path Library() const { return dir_.path() / "usr/lib64/libnvidia-ml.so.1"; }
  void SetUp() override { fs::create_directories(Library().parent_path()); }
  void Put(std::string_view content) { ASSERT_TRUE(ReplaceFile(Library(), content, 0755).has_value()); }
  Error ReadError() const {
    nvml::HostedLibrary library({.driver_roots = {dir_.path()}});
    const auto facts = library.Read();
    EXPECT_FALSE(facts.has_value());
    return facts.has_value() ? Error(ErrorKind::kTransient, "", "") : facts.error();
  }
  TempDir dir_ = TempDir::Create("library-test").value();
};

TEST_F(LibraryTest, AnEmptyRootSaysWhereItLooked) {
  const Error error = ReadError();
  EXPECT_EQ(error.code(), "DriverNotFound");
  EXPECT_EQ(error.kind(), ErrorKind::kPermanentDevice);
  EXPECT_THAT(error.message(), HasSubstr("usual places have none"));
  EXPECT_THAT(error.message(), HasSubstr(dir_.path().string()));
}

TEST_F(LibraryTest, ATextFile) {
  Put("#!/bin/sh\n# A wrapper that somebody left under the library's name; long enough to be read as a header.\n");
  EXPECT_THAT(ReadError().message(), HasSubstr("libnvidia-ml.so.1: invalid ELF header"));
}

TEST_F(LibraryTest, AnEmptyFile) {
  Put("");
  EXPECT_THAT(ReadError().message(), HasSubstr("file too short"));
}

TEST_F(LibraryTest, ADirectory) {
  fs::create_directory(Library());
  EXPECT_THAT(ReadError().message(), HasSubstr("libnvidia-ml.so.1: not a file"));
}

TEST_F(LibraryTest, A32BitLibrary) {
  std::string image = sim::MakeSharedObject("libnvidia-ml.so.1");
  image[4] = 1;  // EI_CLASS: ELFCLASS32.
  Put(image);
  EXPECT_THAT(ReadError().message(), HasSubstr("wrong ELF class: ELFCLASS32"));
}

TEST_F(LibraryTest, ALibraryThatIsNotNvml) {
  Put(sim::MakeSharedObject("libnvidia-ml.so.1"));
  EXPECT_THAT(ReadError().message(), HasSubstr("it lacks nvmlInit_v2"));
}

TEST_F(LibraryTest, ADanglingLink) {
  fs::create_symlink("libnvidia-ml.so.999", Library());
  EXPECT_THAT(ReadError().message(), HasSubstr("usual places have none"));
}

TEST_F(LibraryTest, TheSecondRootServesWhenTheFirstDoesNot) {
  Put("garbage");
  const SimRoot root("l4");
  nvml::HostedLibrary library({.driver_roots = {dir_.path(), root.path()}});
  const auto facts = library.Read();
  ASSERT_TRUE(facts.has_value()) << facts.error().Text();
  EXPECT_EQ(facts->gpus.size(), 1U);
  EXPECT_THAT(facts->library, HasSubstr(root.path().string()));
}

// The bytes of a loader cache with one entry for this machine's architecture.
std::string LoaderCache(const std::string& name, const std::string& path) {
  std::string cache = "glibc-ld.so.cache1.1";
  const auto put = [&cache](std::uint32_t value) { cache.append(reinterpret_cast<const char*>(&value), sizeof value); };
  constexpr std::uint32_t kStrings = 48 + 24;
#if defined(__aarch64__)
  constexpr std::uint32_t kNative = 0x0A03;
#else
  constexpr std::uint32_t kNative = 0x0303;
#endif
  put(1);
  put(static_cast<std::uint32_t>(name.size() + path.size() + 2));
  cache.append(20, '\0');
  put(kNative);
  put(kStrings);
  put(kStrings + static_cast<std::uint32_t>(name.size()) + 1);
  cache.append(12, '\0');
  return cache + name + '\0' + path + '\0';
}

TEST_F(LibraryTest, TheLoadersCacheKnowsOddPlaces) {
  const SimRoot root("l4");
  const fs::path odd = root.path() / "opt/vendor/lib";
  fs::create_directories(odd);
  for (const auto& entry : fs::recursive_directory_iterator(root.path() / "usr/lib")) {
    if (entry.path().filename().string().starts_with("libnvidia-ml.so"))
      fs::rename(entry.path(), odd / entry.path().filename());
  }
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  EXPECT_EQ(library.Read().error().code(), "DriverNotFound");
  const std::string cache = LoaderCache("libnvidia-ml.so.1", "/opt/vendor/lib/libnvidia-ml.so.1");
  ASSERT_TRUE(ReplaceFile(root.path() / "etc/ld.so.cache", cache).has_value());
  const auto facts = library.Read();
  ASSERT_TRUE(facts.has_value()) << facts.error().Text();
  EXPECT_THAT(facts->library, HasSubstr("/opt/vendor/lib/"));
}

TEST_F(LibraryTest, AnErrorListsWhatEachCandidateAnswered) {
  Put("#!/bin/sh\n# Not a library, but long enough for the loader to read a whole header from it.\n");
  const SimRoot root("l4", [](sim::Machine& machine) { machine.driver_loaded = false; });
  nvml::HostedLibrary library({.driver_roots = {dir_.path(), root.path()}});
  const auto facts = library.Read();
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), "DriverNotLoaded");
  EXPECT_THAT(facts.error().message(), HasSubstr("invalid ELF header"));
  EXPECT_THAT(facts.error().message(), HasSubstr("Driver Not Loaded (9)"));
}

TEST_F(LibraryTest, ADriverThatIsNotLoadedIsNotAMissingDriver) {
  const SimRoot root("l4", [](sim::Machine& machine) { machine.driver_loaded = false; });
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  const auto facts = library.Read();
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), "DriverNotLoaded");
  EXPECT_EQ(facts.error().kind(), ErrorKind::kTransient);
}

TEST_F(LibraryTest, AnUpgradeUnderAForeignKernelModule) {
  const SimRoot root("l4", [](sim::Machine& machine) { machine.kernel_version = "550.1.2"; });
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  const auto facts = library.Read();
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), "DriverVersionMismatch");
}

TEST_F(LibraryTest, AProgramThatCannotBeStarted) {
  nvml::HostedLibrary library({.driver_roots = {dir_.path()}, .program = "/nonexistent/program"});
  EXPECT_EQ(library.Read().error().code(), "NvmlHost");
}

}  // namespace
}  // namespace tessera::tests
