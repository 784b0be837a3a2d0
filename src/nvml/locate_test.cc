#include "nvml/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/fd.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

class LocateTest : public ::testing::Test {
 protected:
  fs::path Root() const { return dir_.path(); }
  void Put(const fs::path& relative, std::string_view content = "x") {
    fs::create_directories((Root() / relative).parent_path());
    ASSERT_TRUE(ReplaceFile(Root() / relative, content).has_value());
  }
  TempDir dir_ = TempDir::Create("locate-test").value();
};

TEST_F(LocateTest, CandidatesAreTheStandardFoldersInOrder) {
  const auto candidates = Candidates(Root());
  EXPECT_EQ(candidates.front(), Root() / "libnvidia-ml.so.1");
  EXPECT_THAT(candidates, Contains(Root() / "usr/lib64/libnvidia-ml.so.1"));
  EXPECT_THAT(candidates, Contains(Root() / "lib64/libnvidia-ml.so.1"));
  for (const fs::path& candidate : candidates) EXPECT_TRUE(candidate.is_absolute()) << candidate;
}

TEST_F(LocateTest, TheHostAlsoAsksTheLoader) { EXPECT_EQ(Candidates("/").back(), "libnvidia-ml.so.1"); }

TEST_F(LocateTest, ADamagedLoaderCacheIsIgnored) {
  Put("etc/ld.so.cache", "garbage");
  EXPECT_FALSE(Candidates(Root()).empty());
}

TEST_F(LocateTest, LinksResolveInsideTheRoot) {
  Put("usr/lib64/libnvidia-ml.so.580.1");
  fs::create_symlink("/usr/lib64/libnvidia-ml.so.580.1", Root() / "usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(ResolveBelow(Root(), Root() / "usr/lib64/libnvidia-ml.so.1").value(),
            Root() / "usr/lib64/libnvidia-ml.so.580.1")
      << "an absolute link means the container's own root";
  fs::create_symlink("../../../../../../../../etc/passwd", Root() / "escape");
  EXPECT_FALSE(ResolveBelow(Root(), Root() / "escape").has_value());
  EXPECT_FALSE(ResolveBelow(Root(), Root() / "absent").has_value());
}

TEST_F(LocateTest, NotFoundListsWhatEachAnswered) {
  const Error error = NotFound({"/", "/run/nvidia/driver"}, {{"/a/libnvidia-ml.so.1", "invalid ELF header"},
                                                             {"/b/libnvidia-ml.so.1", "not there"},
                                                             {"/c/libnvidia-ml.so.1", "not there"}});
  EXPECT_EQ(error.code(), "DriverNotFound");
  EXPECT_THAT(error.message(), HasSubstr("below / or /run/nvidia/driver"));
  EXPECT_THAT(error.message(), HasSubstr("/a/libnvidia-ml.so.1: invalid ELF header"));
  EXPECT_THAT(error.message(), HasSubstr("2 usual places have none"));
  EXPECT_THAT(error.advice(), HasSubstr("--driver-root"));
}

}  // namespace
}  // namespace tessera::nvml
