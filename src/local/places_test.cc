#include "local/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() {
    hints_.user = ::geteuid();
    hints_.plugin = dir_.path() / "plugins/gpu.nvidia.com";
    hints_.system = dir_.path() / "run/tessera";
    hints_.system_cdi = dir_.path() / "cdi";
    hints_.temporary = dir_.path();
  }

  std::string Code() const {
    const auto places = FindPlaces(hints_);
    return places ? "" : std::string(places.error().code());
  }

  const TempDir dir_ = TempDir::Create("places").value();
  PlaceHints hints_;
};

// Root asks for somebody else, whose directories are there already.
TEST_F(PlacesTest, AnOrdinaryUsersAreItsOwn) {
  constexpr uid_t kNobody = 65534;
  if (hints_.user == 0) {
    hints_.user = kNobody;
    for (const char* name : {"user/tessera", "tessera-65534"}) {
      const fs::path theirs = dir_.path() / name;
      fs::create_directories(theirs);
      fs::permissions(theirs, fs::perms::owner_all);
      ASSERT_EQ(::chown(theirs.c_str(), kNobody, kNobody), 0);
    }
  }
  hints_.runtime_dir = (dir_.path() / "user").string();
  auto places = FindPlaces(hints_).value();
  EXPECT_EQ(places.state, dir_.path() / "user/tessera");
  EXPECT_EQ(places.cdi, dir_.path() / "user/tessera/cdi");
  hints_.runtime_dir.clear();
  EXPECT_EQ(FindPlaces(hints_).value().state, dir_.path() / ("tessera-" + std::to_string(hints_.user)));
}

TEST_F(PlacesTest, RootSharesThePluginsWhereThereIsOne) {
  if (hints_.user != 0) GTEST_SKIP() << "not root";
  EXPECT_EQ(FindPlaces(hints_).value().state, hints_.system);
  EXPECT_EQ(FindPlaces(hints_).value().cdi, hints_.system_cdi);
  fs::create_directories(hints_.plugin);
  EXPECT_EQ(FindPlaces(hints_).value().state, hints_.plugin);
}

TEST_F(PlacesTest, ASimulatedMachineSharesNothingWithTheRealOne) {
  fs::create_directories(hints_.plugin);
  hints_.simulated = "profiles/two-l4.yaml";
  EXPECT_EQ(FindPlaces(hints_).value().state.filename(), "simulated-two-l4");
  EXPECT_NE(FindPlaces(hints_).value().state.parent_path(), hints_.plugin);
  hints_.simulated = "../..";
  EXPECT_EQ(FindPlaces(hints_).value().state.filename(), "simulated-..");
}

TEST_F(PlacesTest, AnotherUsersPluginIsNeverPassedOver) {
  fs::create_directories(hints_.plugin);
  hints_.user = 1000;
  EXPECT_EQ(Code(), "NodeStateUnreadable");
  if (::geteuid() == 0) return;  // May look everywhere.
  fs::permissions(hints_.plugin.parent_path(), fs::perms::none);
  EXPECT_EQ(Code(), "NodeStateUnreadable");
  fs::permissions(hints_.plugin.parent_path(), fs::perms::owner_all);
}

TEST_F(PlacesTest, ADirectoryThatOthersCanWriteToIsRefused) {
  hints_.state = dir_.path() / "open";
  fs::create_directory(hints_.state);
  fs::permissions(hints_.state, fs::perms::all);
  EXPECT_EQ(Code(), "UnsafeStateDirectory");
  fs::permissions(hints_.state, fs::perms::owner_all);
  EXPECT_EQ(Code(), "");
  fs::create_symlink(hints_.state, dir_.path() / "link");
  hints_.state = dir_.path() / "link";
  EXPECT_EQ(Code(), "UnsafeStateDirectory");
}

TEST(IsForAllRuntimes, KnowsTheDirectoriesOfTheCdiSpecification) {
  for (const char* known : {"/etc/cdi", "/var/run/cdi", "/run/cdi", "/run/./cdi"}) EXPECT_TRUE(IsForAllRuntimes(known));
  for (const char* other : {"/run/user/1000/tessera/cdi", "cdi", ""}) EXPECT_FALSE(IsForAllRuntimes(other));
}

}  // namespace
}  // namespace tessera::local
