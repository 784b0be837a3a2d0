// A journal damaged in any way never stops the plugin from serving, and costs no claim. src/journal/journal_test.cc does
// the same to the journal alone, thousands of times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "tests/crash/crash_fixture.h"

namespace tessera::tests {
namespace {

constexpr unsigned kSeedsPerTest = 100;

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string Do(std::string text) {
    for (std::size_t i = 0; i <= Below(3); ++i) text = DoOnce(std::move(text));
    return text;
  }

 private:
  std::size_t Below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit)(random_); }

  std::string Noise(std::size_t length) {
    std::string noise(length, '\0');
    for (char& c : noise) c = static_cast<char>(Below(255));
    return noise;
  }

  std::string DoOnce(std::string text) {
    const std::size_t at = Below(text.size());
    switch (Below(8)) {
      case 0:
        for (std::size_t i = 0; i <= Below(20) && !text.empty(); ++i) {
          text[Below(text.size() - 1)] ^= static_cast<char>(1U << Below(7));
        }
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.insert(at, Noise(Below(5'000)));
        break;
      case 3:
        text.erase(at, Below(2'000));
        break;
      case 4:
        text = Noise(Below(100'000));
        break;
      case 5:
        text.replace(at, Below(4'096), std::string(4'096, '\0'));  // What some file systems leave of an unsynced block.
        break;
      case 6:
        text.insert(at, text.substr(Below(text.size())));
        break;
      case 7:
        for (std::size_t found = 0; (found = text.find(R"("v":1)", found)) != std::string::npos;) {
          text.replace(found, 5, R"("v":0)");
        }
        break;
      default:
        text.insert(0, "{\"preparedClaims\":{}}\n");
        break;
    }
    return text;
  }

  std::mt19937 random_;
};

class DamagedJournalTest : public CrashFixture, public testing::WithParamInterface<unsigned> {
 protected:
  void Judge() {
    const auto plugin = node().Start(kUnlimited);
    ASSERT_TRUE(node().WaitRegistered()) << plugin->Log();
    ASSERT_TRUE(node().WaitPublished(8)) << plugin->Log();
    // What the journal lost is in the CDI files, and comes back without the kubelet's help.
    EXPECT_TRUE(Eventually([&] { return crash_.Recorded().size() == subjects_.size(); }));
    ExpectRecordsAsTold();
    ExpectServedAsTold();
    Stop(*plugin);
    EXPECT_EQ(plugin->Wait(), 0);
    EXPECT_TRUE(crash_.Recorded().empty());
    if (HasFailure()) std::cout << plugin->Log();
  }
};

TEST_P(DamagedJournalTest, StopsNothingAndCostsNoClaim) {
  Add("a", {"gpu-0"}, Told::kPrepared);
  Add("b", {"gpu-1", "gpu-2"}, Told::kPrepared);
  Add("c", {"gpu-3"}, Told::kPrepared);
  auto plugin = node().StartReady();
  for (Subject& subject : subjects_) Prepare(subject);
  plugin.reset();
  crash_.Keep();
  const std::string whole = ReadFile(node().plugin_dir() / "journal").value();
  for (unsigned seed = GetParam() * kSeedsPerTest; seed < (GetParam() + 1) * kSeedsPerTest; ++seed) {
    SCOPED_TRACE(seed);
    crash_.Restore();
    BeginRound();
    ReplaceFile(node().plugin_dir() / "journal", Damage(seed).Do(whole), 0600).value();
    Judge();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedJournalTest, testing::Range(0U, 4U));

}  // namespace
}  // namespace tessera::tests
