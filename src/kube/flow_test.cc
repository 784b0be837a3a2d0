#include "kube/flow.h"

#include <gtest/gtest.h>

#include "kube/base64.h"

namespace tessera::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RequestBudget, AllowsABurstAndThenARate) {
  RequestBudget budget(5, 3);
  const Time start{seconds(100)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(budget.Reserve(start), start);
  EXPECT_EQ(budget.Reserve(start), start + milliseconds(200));
  EXPECT_EQ(budget.Reserve(start), start + milliseconds(400));
  budget.GiveBack();
  EXPECT_EQ(budget.Reserve(start), start + milliseconds(400));
  EXPECT_EQ(budget.Reserve(start + seconds(60)), start + seconds(60));
}

TEST(RequestBudget, HoldsWhatTheServerAskedToHold) {
  RequestBudget budget(5, 10);
  const Time start{seconds(100)};
  budget.HoldUntil(start + seconds(7));
  budget.HoldUntil(start + seconds(2));  // The longer one counts.
  EXPECT_EQ(budget.Reserve(start), start + seconds(7));
  EXPECT_EQ(budget.Reserve(start + seconds(8)), start + seconds(8));
}

TEST(Backoff, DoublesWithinItsBoundsAndStartsAnew) {
  for (int run = 0; run < 50; ++run) {
    Backoff backoff(milliseconds(100), milliseconds(1000));
    for (const int whole : {100, 200, 400, 800, 1000, 1000}) {
      const milliseconds delay = backoff.Next();
      EXPECT_LE(delay.count(), whole);
      EXPECT_GE(delay.count(), whole / 2);
    }
    backoff.Reset();
    EXPECT_LE(backoff.Next(), milliseconds(100));
  }
}

TEST(PauseUntil, EndsEarlyWhenStopped) {
  EXPECT_TRUE(PauseUntil(std::chrono::steady_clock::now(), {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(PauseUntil(std::chrono::steady_clock::now() + std::chrono::hours(1), stop.get_token()));
}

TEST(Base64, DecodesOrRefuses) {
  struct Case {
    std::string_view text;
    std::optional<std::string> decoded;
  };
  const Case cases[] = {
      {"", ""},
      {"Zg==", "f"},
      {"Zm8=", "fo"},
      {"Zm9v", "foo"},
      {"Zm9v\nYmFy\n", "foobar"},
      {"+/+/", "\xFB\xFF\xBF"},
      {"Zg", std::nullopt},
      {"Zg=", std::nullopt},
      {"Z===", std::nullopt},
      {"Zg==Zg==", std::nullopt},
      {"Zg=a", std::nullopt},
      {"Z g=", std::nullopt},
      {"Zm9v-", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(DecodeBase64(c.text), c.decoded) << c.text;
}

}  // namespace
}  // namespace tessera::kube
