#include "kubelet/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tessera::kubelet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

api::ClaimRef Claim(std::string uid, std::string name = "c") { return {"default", std::move(name), std::move(uid)}; }

TEST(DistinctClaims, KeepsTheFirstOfEachUid) {
  EXPECT_THAT(DistinctClaims({Claim("a", "x"), Claim("b"), Claim("a", "y")}), ElementsAre(Claim("a", "x"), Claim("b")));
}

TEST(MatchAnswers, OneForEachThatWasAsked) {
  const std::array asked{Claim("a"), Claim("b"), Claim("c")};
  Answers given{
      {.uid = "c"}, {.uid = "stranger"}, {.uid = "a"}, {.uid = "a", .error = Error(ErrorKind::kTransient, "X", "x")}};
  const Answers matched = MatchAnswers(asked, std::move(given));
  ASSERT_EQ(matched.size(), 3U);
  EXPECT_EQ(matched[0].uid, "a");
  EXPECT_FALSE(matched[0].error.has_value());
  ASSERT_TRUE(matched[1].error.has_value());
  EXPECT_EQ(matched[1].error->code(), "NoAnswer");
  EXPECT_EQ(matched[2].uid, "c");
  EXPECT_FALSE(matched[2].error.has_value());
}

TEST(ErrorText, NamesTheCodeAndIsNeverTooLong) {
  EXPECT_EQ(ErrorText(Error(ErrorKind::kTransient, "Busy", "")), "Busy: ");
  EXPECT_EQ(ErrorText(Error(ErrorKind::kTransient, "Busy", "GPU busy", "wait")), "Busy: GPU busy; wait");
  EXPECT_EQ(ErrorText(Error(ErrorKind::kTransient, "Busy", std::string(2000, 'x'))).size(), kMaxErrorText);
}

TEST(HandlerDeadline, LeavesTimeForTheAnswer) {
  struct Case {
    std::chrono::nanoseconds client;
    milliseconds want;
  };
  constexpr std::array kCases{
      Case{seconds(45), seconds(42)}, Case{std::chrono::nanoseconds::max(), seconds(42)},
      Case{seconds(20), seconds(17)}, Case{seconds(2), milliseconds(1500)},
      Case{seconds(-1), seconds(0)},
  };
  for (const Case& c : kCases) EXPECT_EQ(HandlerDeadline(c.client, Deadline{}), Deadline{} + c.want);
}

}  // namespace
}  // namespace tessera::kubelet
