#include "cdi/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/fd.h"

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kUid = "3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10";
const std::string kOtherUid = "b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44";

Spec ClaimSpec(const std::string& node = "/dev/nvidia0") {
  return {.kind = std::string(kClaimKind),
          .devices = {{kUid + "-gpu-0", Edits{.device_nodes = {{.path = node, .major = 195}}}}}};
}

Spec BaseSpec() {
  return {.kind = std::string(kBaseKind), .devices = {{std::string(kBaseDevice), Edits{.env = {"A=b"}}}}};
}

class WriterTest : public ::testing::Test {
 protected:
  fs::path File(const std::string& uid = kUid) const { return cdi_ / ("k8s.gpu.nvidia.com-claim_" + uid + ".yaml"); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cdi_)) names.push_back(entry.path().filename());
    return names;
  }
  void Put(const fs::path& path, std::string_view content) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(ReplaceFile(path, content).has_value());
  }
  bool Holds(const std::string& uid, const Spec& spec, std::string_view comment) const {
    const auto written = Writer(cdi_).ReadClaims();
    if (!written || !fs::is_regular_file(fs::symlink_status(File(uid)))) return false;
    return std::ranges::any_of(*written, [&](const Writer::ClaimFile& file) {
      return file.uid == uid && file.comment == comment && file.spec == spec;
    });
  }
  void MustPut(const Spec& spec, std::string_view comment = {}) {
    const auto put = writer_.EnsureClaim(kUid, spec, comment);
    ASSERT_TRUE(put.has_value()) << put.error().Text();
  }

  const TempDir dir_ = TempDir::Create("cdi-writer-test").value();
  const fs::path cdi_ = dir_.path() / "run/cdi";
  Writer writer_{cdi_};
};

TEST_F(WriterTest, MakesTheDirectoryAndTheFileForAllToRead) {
  const mode_t before = ::umask(0);
  MustPut(ClaimSpec(), "about");
  ::umask(before);
  EXPECT_EQ(ReadFile(File()).value(), "# tessera: about\n" + Print(ClaimSpec()));
  struct stat directory{}, file{};
  ASSERT_EQ(::stat(cdi_.c_str(), &directory), 0);
  ASSERT_EQ(::stat(File().c_str(), &file), 0);
  EXPECT_EQ(directory.st_mode & 07777U, 0755U);
  EXPECT_EQ(file.st_mode & 07777U, 0644U);
  EXPECT_THAT(Names(), ElementsAre(File().filename().string())) << "nothing else is left";
}

TEST_F(WriterTest, WritesUnlessTheFileHoldsExactlyThat) {
  const auto writes = [&](const std::string& uid, const Spec& spec, std::string_view comment) {
    const auto written = writer_.EnsureClaim(uid, spec, comment);
    EXPECT_TRUE(written.has_value()) << written.error().Text();
    EXPECT_TRUE(Holds(uid, spec, comment));
    return written.value_or(false);
  };
  EXPECT_TRUE(writes(kUid, ClaimSpec(), "c"));
  EXPECT_FALSE(writes(kUid, ClaimSpec(), "c"));
  EXPECT_TRUE(writes(kUid, ClaimSpec(), "d"));
  EXPECT_TRUE(writes(kUid, ClaimSpec("/dev/nvidia1"), "d"));
  EXPECT_TRUE(writes(kOtherUid, ClaimSpec("/dev/nvidia1"), "d"));
  fs::permissions(File(), fs::perms::owner_read);
  EXPECT_TRUE(writes(kUid, ClaimSpec("/dev/nvidia1"), "d")) << "a runtime that is not root could not read it";
  Put(File(), ReadFile(File()).value() + " ");
  EXPECT_TRUE(writes(kUid, ClaimSpec("/dev/nvidia1"), "d"));
}

TEST_F(WriterTest, TheBaseHasAFileOfItsOwn) {
  const fs::path base = cdi_ / "k8s.gpu.nvidia.com-base.yaml";
  Put(cdi_ / "k8s.gpu.nvidia.com-device_base.yaml", "the Go driver's");
  const auto spec = std::make_shared<const Spec>(BaseSpec());
  EXPECT_TRUE(writer_.EnsureBase(spec).value());
  EXPECT_FALSE(writer_.EnsureBase(spec).value());
  EXPECT_EQ(Parse(ReadFile(base).value()).value(), BaseSpec());
  EXPECT_EQ(ReadFile(cdi_ / "k8s.gpu.nvidia.com-device_base.yaml").value(), "the Go driver's");
  EXPECT_FALSE(writer_.EnsureBase(std::make_shared<const Spec>(BaseSpec())).value()) << "the same in another object";
}

TEST_F(WriterTest, ABaseThatWasTouchedIsWrittenAgain) {
  const fs::path base = cdi_ / "k8s.gpu.nvidia.com-base.yaml";
  const auto spec = std::make_shared<const Spec>(BaseSpec());
  ASSERT_TRUE(writer_.EnsureBase(spec).value());
  const std::string right = ReadFile(base).value();
  for (const auto& touch : std::vector<std::function<void()>>{
           [&] { fs::remove(base); },
           [&] { Put(base, std::string(right.size(), 'x')); },
           [&] { fs::permissions(base, fs::perms::owner_read); },
           [&] { fs::remove_all(cdi_); },
       }) {
    EXPECT_FALSE(writer_.EnsureBase(spec).value());
    touch();
    EXPECT_TRUE(writer_.EnsureBase(spec).value());
    EXPECT_EQ(ReadFile(base).value(), right);
  }
}

TEST_F(WriterTest, DevicesOfTheGoDriversNodeFileAreAddedToWhatItHas) {
  const auto file = cdi_ / "k8s.gpu.nvidia.com-device_base.yaml";
  EXPECT_TRUE(writer_.HasNodeDevices({}));
  EXPECT_FALSE(writer_.HasNodeDevices({"gpu-0"}));
  EXPECT_FALSE(writer_.EnsureNodeDevices({}).value());
  EXPECT_FALSE(fs::exists(file));
  EXPECT_TRUE(writer_.EnsureNodeDevices({"gpu-0"}).value());
  EXPECT_TRUE(writer_.EnsureNodeDevices({"gpu-1", "gpu-0"}).value());
  EXPECT_FALSE(writer_.EnsureNodeDevices({"gpu-0", "gpu-1"}).value());
  EXPECT_TRUE(writer_.HasNodeDevices({"gpu-0", "gpu-1"}));
  ASSERT_TRUE(ReplaceFile(file, "torn").has_value());
  EXPECT_FALSE(writer_.HasNodeDevices({"gpu-0"}));
  EXPECT_TRUE(writer_.EnsureNodeDevices({"gpu-0"}).value());
  EXPECT_TRUE(writer_.HasNodeDevices({"gpu-0"}));
}

TEST_F(WriterTest, RemovingTwiceSucceeds) {
  EXPECT_TRUE(writer_.RemoveClaim(kUid).has_value()) << "without the directory";
  MustPut(ClaimSpec());
  EXPECT_TRUE(writer_.RemoveClaim(kUid).has_value());
  EXPECT_TRUE(writer_.RemoveClaim(kUid).has_value());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(WriterTest, RefusesWhatIsNoUid) {
  const std::vector<std::string> refused{"", "..", "../../etc/x", "a/b", "a_b", "-a", std::string(64, 'a')};
  for (const std::string& uid : refused) {
    SCOPED_TRACE(uid);
    EXPECT_EQ(writer_.EnsureClaim(uid, ClaimSpec(), "").error().code(), "BadClaimUid");
    EXPECT_EQ(writer_.RemoveClaim(uid).error().code(), "BadClaimUid");
  }
  EXPECT_FALSE(fs::exists(cdi_));
}

TEST_F(WriterTest, RefusesASpecThatRuntimesWouldSkip) {
  EXPECT_EQ(writer_.EnsureClaim(kUid, Spec{}, "").error().code(), "BadCdiSpec");
  EXPECT_EQ(writer_.EnsureBase(std::make_shared<const Spec>()).error().code(), "BadCdiSpec");
}

TEST_F(WriterTest, ALinkInPlaceOfTheFileIsReplacedNotFollowed) {
  Put(dir_.path() / "precious", Print(ClaimSpec()));
  fs::create_directories(cdi_);
  fs::create_symlink(dir_.path() / "precious", File());
  EXPECT_FALSE(Holds(kUid, ClaimSpec(), "")) << "though the target holds it";
  MustPut(ClaimSpec("/dev/nvidia7"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(File())));
  EXPECT_EQ(ReadFile(dir_.path() / "precious").value(), Print(ClaimSpec()));

  fs::remove(File());
  fs::create_symlink(dir_.path() / "precious", File());
  EXPECT_TRUE(writer_.RemoveClaim(kUid).has_value());
  EXPECT_TRUE(fs::exists(dir_.path() / "precious"));
}

TEST_F(WriterTest, AFolderInPlaceOfTheFileIsAnError) {
  fs::create_directories(File());
  const auto put = writer_.EnsureClaim(kUid, ClaimSpec(), "");
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), "CdiWriteFailed");
  EXPECT_THAT(put.error().message(), HasSubstr(cdi_.string() + ": Is a directory"));
  EXPECT_THAT(Names(), ElementsAre(File().filename().string())) << "the temporary file is gone";
  EXPECT_FALSE(Holds(kUid, ClaimSpec(), ""));
}

TEST_F(WriterTest, SaysWhyItCannotWrite) {
  Put(dir_.path() / "file", "x");
  Writer in_a_file(dir_.path() / "file");
  const auto put = in_a_file.EnsureClaim(kUid, ClaimSpec(), "");
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), "CdiWriteFailed");
  EXPECT_EQ(put.error().kind(), ErrorKind::kPermanentConfig);
  EXPECT_THAT(put.error().message(), HasSubstr((dir_.path() / "file").string() + ": Not a directory"));
  EXPECT_THAT(put.error().advice(), HasSubstr("--cdi-root"));
  EXPECT_EQ(in_a_file.ReadClaims().error().code(), "CdiWriteFailed");
  EXPECT_EQ(in_a_file.RemoveClaim(kUid).error().code(), "CdiWriteFailed");
}

TEST_F(WriterTest, AReadOnlyDirectoryIsNamed) {
  // /proc refuses new files to root as well, which a test's own directory does not.
  Writer writer("/proc/self");
  const auto put = writer.EnsureClaim(kUid, ClaimSpec(), "");
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), "CdiWriteFailed");
  EXPECT_THAT(put.error().message(), HasSubstr("in /proc/self: "));
  EXPECT_FALSE(put.error().advice().empty());
}

TEST_F(WriterTest, AnEmptiedOrRemovedDirectoryIsFilledAgain) {
  MustPut(ClaimSpec());
  fs::remove(File());
  EXPECT_FALSE(Holds(kUid, ClaimSpec(), ""));
  MustPut(ClaimSpec());
  EXPECT_TRUE(Holds(kUid, ClaimSpec(), ""));
  fs::remove_all(dir_.path() / "run");
  EXPECT_THAT(writer_.ReadClaims().value(), IsEmpty());
  EXPECT_THAT(writer_.ListClaims().value(), IsEmpty());
  MustPut(ClaimSpec());
  EXPECT_TRUE(Holds(kUid, ClaimSpec(), ""));
}

TEST_F(WriterTest, ReadsBackCommentsOfAnyText) {
  for (const std::string comment :
       {"plain", "{\"a\":[1, 2]}", "100%", "%41", "line\nend\u2028kind: x\u0085", "gerät\x01\xFF"}) {
    SCOPED_TRACE(comment);
    MustPut(ClaimSpec(), comment);
    const auto claims = writer_.ReadClaims().value();
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0].uid, kUid);
    EXPECT_EQ(claims[0].comment, comment);
    EXPECT_EQ(claims[0].spec, ClaimSpec());
    EXPECT_TRUE(Holds(kUid, ClaimSpec(), comment));
  }
}

TEST_F(WriterTest, ReadsItsClaimsAndNothingElse) {
  MustPut(ClaimSpec(), "ours");
  Put(File(kOtherUid), "---\n" + Print(ClaimSpec("/dev/nvidia1")));
  Put(File("damaged"), "kind: [");
  Put(File("huge"), std::string((std::size_t{4} << 20) + 1, '#'));
  fs::create_symlink("/dev/zero", File("zero"));
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  for (const char* foreign :
       {"k8s.gpu.nvidia.com-device_base.yaml", "k8s.gpu.nvidia.com-base.yaml",
        "k8s.compute-domain.nvidia.com-claim_x.yaml", "k8s.gpu.nvidia.com-claim_.yaml",
        "k8s.gpu.nvidia.com-claim_a b.yaml", "k8s.gpu.nvidia.com-claim_x.json", "nvidia.yaml", ".yaml"}) {
    Put(cdi_ / foreign, "foreign");
  }

  std::map<std::string, Writer::ClaimFile> claims;
  const auto read = writer_.ReadClaims().value();
  for (const Writer::ClaimFile& claim : read) claims[claim.uid] = claim;
  ASSERT_EQ(claims.size(), 6U);
  EXPECT_EQ(claims[kUid].comment, "ours");
  EXPECT_EQ(claims[kOtherUid].comment, "");
  EXPECT_EQ(claims[kOtherUid].spec, ClaimSpec("/dev/nvidia1"));
  for (const char* uid : {"damaged", "huge", "zero", "fifo"}) EXPECT_EQ(claims[uid].spec, std::nullopt) << uid;
  EXPECT_THAT(writer_.ListClaims().value(), UnorderedElementsAre(kUid, kOtherUid, "damaged", "huge", "zero", "fifo"));
  EXPECT_EQ(Names().size(), 14U) << "nothing was removed";
}

TEST_F(WriterTest, WhatADeadWriterLeftIsRemoved) {
  MustPut(ClaimSpec());
  Put(cdi_ / ".spec.0123456789abcdef.tmp", "half");
  Put(cdi_ / ".spec.foreign", "not ours");
  EXPECT_EQ(writer_.ReadClaims().value().size(), 1U);
  EXPECT_THAT(Names(), UnorderedElementsAre(File().filename().string(), ".spec.foreign"));
}

TEST_F(WriterTest, ReadersSeeTheOldFileOrTheNewOne) {
  MustPut(ClaimSpec("/dev/nvidia0"));
  const std::string old_text = Print(ClaimSpec("/dev/nvidia0")), new_text = Print(ClaimSpec("/dev/nvidia10"));
  std::jthread other([this](const std::stop_token& stop) {
    Writer same_directory(cdi_);
    while (!stop.stop_requested()) {
      ASSERT_TRUE(same_directory.EnsureClaim(kUid, ClaimSpec("/dev/nvidia10"), "").has_value());
      ASSERT_TRUE(same_directory.ReadClaims().has_value());
    }
  });
  for (int i = 0; i < 200; ++i) {
    MustPut(ClaimSpec("/dev/nvidia0"));
    const std::string text = ReadFile(File()).value();
    EXPECT_TRUE(text == old_text || text == new_text) << text;
  }
  other.request_stop();
  other.join();
  EXPECT_THAT(Names(), ElementsAre(File().filename().string()));
}

}  // namespace
}  // namespace tessera::cdi
