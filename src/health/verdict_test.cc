#include "health/verdict.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"

namespace tessera::health {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Verdict, IsReadFromYamlAndJson) {
  const auto yaml = ParseVerdict(
      "device: GPU-a\nstate: unusable\nreason: level 3 diagnostics failed\nsource: dcgm\n"
      "expires: 2026-11-15T18:00:00Z\n");
  ASSERT_TRUE(yaml.has_value()) << yaml.error().Text();
  EXPECT_EQ(yaml->device, "GPU-a");
  EXPECT_EQ(yaml->severity, Severity::kUnusable);
  EXPECT_EQ(yaml->reason, "level 3 diagnostics failed");
  EXPECT_EQ(yaml->source, "dcgm");
  EXPECT_EQ(Rfc3339(*yaml->expires), "2026-11-15T18:00:00Z");
  const auto json = ParseVerdict(R"({"device": 3, "state": "healthy", "reason": "repaired\nby hand"})");
  ASSERT_TRUE(json.has_value()) << json.error().Text();
  EXPECT_EQ(json->device, "3");
  EXPECT_EQ(json->severity, Severity::kNone);
  EXPECT_EQ(json->reason, "repaired by hand") << "one line";
  EXPECT_EQ(json->expires, std::nullopt);
}

TEST(Verdict, SaysWhatIsWrongWithIt) {
  struct Case {
    std::string_view name, text, expected;
  };
  constexpr std::array kCases{
      Case{"empty", "", "0 documents"},
      Case{"two", "device: 1\n---\ndevice: 2\n", "2 documents"},
      Case{"no YAML", "device: [", "line"},
      Case{"no device", "state: lost\nreason: x", "device: required"},
      Case{"a list of devices", "device: [1]\nstate: lost\nreason: x", "device: must be"},
      Case{"an empty device", "device: ''\nstate: lost\nreason: x", "device: is empty"},
      Case{"no state", "device: 1\nreason: x", "state: required"},
      Case{"a bad state", "device: 1\nstate: none\nreason: x", "\"none\" is not healthy"},
      Case{"no reason", "device: 1\nstate: lost", "reason: required"},
      Case{"an empty reason", "device: 1\nstate: lost\nreason: ''", "1 to 256 bytes"},
      Case{"a bad time", "device: 1\nstate: lost\nreason: x\nexpires: tomorrow", "\"tomorrow\" is no time"},
      Case{"an unknown field", "device: 1\nstate: lost\nreason: x\nexpiry: 1h", "expiry"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto verdict = ParseVerdict(c.text);
    ASSERT_FALSE(verdict.has_value());
    EXPECT_EQ(verdict.error().code(), "VerdictInvalid");
    EXPECT_THAT(verdict.error().message(), HasSubstr(c.expected));
    EXPECT_THAT(verdict.error().advice(), HasSubstr("docs/health.md"));
  }
}

class VerdictDirectory : public ::testing::Test {
 protected:
  void Put(const fs::path& name, std::string_view content = "device: 0\nstate: lost\nreason: x\n") {
    ASSERT_TRUE(ReplaceFile(dir_.path() / name, content).has_value());
  }
  TempDir dir_ = TempDir::Create("verdict-test").value();
};

TEST_F(VerdictDirectory, IsReadInTheOrderOfNames) {
  Put("b.yaml");
  Put("a.json", R"({"device": "GPU-a", "state": "degraded", "reason": "x"})");
  Put("c.yml");
  Put("README.md");
  Put(".hidden.yaml");
  const Verdicts read = ReadVerdicts(dir_.path());
  EXPECT_THAT(read.problems, IsEmpty());
  ASSERT_THAT(read.verdicts, SizeIs(3));
  EXPECT_EQ(read.verdicts[0].file, "a.json");
  EXPECT_EQ(read.verdicts[0].device, "GPU-a");
  EXPECT_EQ(read.verdicts[2].file, "c.yml");
  EXPECT_GT(read.verdicts[0].written.time_since_epoch().count(), 0);
}

// Who repairs quickly writes in the second in which the fault was seen.
TEST_F(VerdictDirectory, SaysWhenEachWasWrittenAndNotInWholeSeconds) {
  Put("a.yaml");
  const std::array times{timespec{.tv_sec = 1'800'000'000, .tv_nsec = 250'000'000},
                         timespec{.tv_sec = 1'800'000'000, .tv_nsec = 250'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir_.path() / "a.yaml").c_str(), times.data(), 0), 0);
  const Verdicts read = ReadVerdicts(dir_.path());
  ASSERT_THAT(read.verdicts, SizeIs(1));
  EXPECT_EQ(read.verdicts[0].written.time_since_epoch(), std::chrono::milliseconds(1'800'000'000'250));
}

TEST_F(VerdictDirectory, MayBeAbsent) {
  const Verdicts read = ReadVerdicts(dir_.path() / "none");
  EXPECT_THAT(read.verdicts, IsEmpty());
  EXPECT_THAT(read.problems, IsEmpty());
}

TEST_F(VerdictDirectory, ThatIsNoDirectoryIsReported) {
  Put("file");
  const Verdicts read = ReadVerdicts(dir_.path() / "file");
  ASSERT_THAT(read.problems, SizeIs(1));
  EXPECT_EQ(read.problems[0].code(), "VerdictUnreadable");
}

TEST_F(VerdictDirectory, ABadFileIsReportedAndSkipped) {
  Put("a.yaml");
  Put("bad.yaml", "device: 0\n");
  Put("large.yaml", std::string(kMaxVerdictSize + 1, '#'));
  fs::create_directory(dir_.path() / "folder.yaml");
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo.yaml").c_str(), 0600), 0);
  const Verdicts read = ReadVerdicts(dir_.path());
  EXPECT_THAT(read.verdicts, SizeIs(1));
  ASSERT_THAT(read.problems, SizeIs(4));
  EXPECT_THAT(read.problems[0].message(), HasSubstr((dir_.path() / "bad.yaml").string()));
  EXPECT_THAT(read.problems[1].message(), HasSubstr("not a regular file")) << "fifo.yaml";
  EXPECT_THAT(read.problems[2].message(), HasSubstr("folder.yaml"));
  EXPECT_THAT(read.problems[3].message(), HasSubstr("larger than"));
}

TEST_F(VerdictDirectory, LinksStayInside) {
  fs::create_directory(dir_.path() / "mounted");
  fs::create_directory(dir_.path() / "mounted/..data_1");
  Put("outside.yaml");
  Put("mounted/..data_1/a.yaml");
  fs::create_directory_symlink("..data_1", dir_.path() / "mounted/..data");
  fs::create_symlink("..data/a.yaml", dir_.path() / "mounted/a.yaml");  // As a mounted ConfigMap has it.
  fs::create_symlink("../outside.yaml", dir_.path() / "mounted/b.yaml");
  fs::create_symlink("/etc/hostname", dir_.path() / "mounted/c.yaml");
  const Verdicts read = ReadVerdicts(dir_.path() / "mounted");
  ASSERT_THAT(read.verdicts, SizeIs(1));
  EXPECT_EQ(read.verdicts[0].file, "a.yaml");
  ASSERT_THAT(read.problems, SizeIs(2));
  EXPECT_EQ(read.problems[0].code(), "VerdictUnreadable");
}

TEST_F(VerdictDirectory, TooManyFilesAreCutAndReported) {
  for (std::size_t i = 0; i < kMaxVerdicts + 3; ++i) Put(Format("{:04}.yaml", i));
  const Verdicts read = ReadVerdicts(dir_.path());
  EXPECT_THAT(read.verdicts, SizeIs(kMaxVerdicts));
  ASSERT_THAT(read.problems, SizeIs(1));
  EXPECT_EQ(read.problems[0].code(), "TooManyVerdicts");
}

}  // namespace
}  // namespace tessera::health
