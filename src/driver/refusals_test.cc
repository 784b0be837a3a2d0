#include "driver/refusals.h"

#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

std::string Silent(std::string_view) { return {}; }

TEST(QuestionOf, IsTheSameForReplacementsAndDiffersWithAnythingThatMatters) {
  const api::Allocation allocation = *TestClaim("a", {Gets("gpu-0")}).allocation;
  const std::string question = QuestionOf(allocation, *TestState(), Silent);
  EXPECT_EQ(QuestionOf(*TestClaim("b", {Gets("gpu-0")}).allocation, *TestState(), Silent), question);

  EXPECT_NE(QuestionOf(*TestClaim("a", {Gets("gpu-1")}).allocation, *TestState(), Silent), question);
  EXPECT_NE(QuestionOf(*TestClaim("a", {Gets("gpu-0", "x")}).allocation, *TestState(), Silent), question);
  EXPECT_NE(QuestionOf(allocation, *TestState(), [](auto) { return "lost"; }), question);
  api::Allocation configured = allocation;
  configured.configs = {{.source = "FromClaim",
                         .requests = {},
                         .driver = "gpu.nvidia.com",
                         .parameters = json::Object{{"kind", "GpuConfig"}}}};
  EXPECT_NE(QuestionOf(configured, *TestState(), Silent), question);
  configured.configs[0].driver = "nic.example.com";
  EXPECT_EQ(QuestionOf(configured, *TestState(), Silent), question) << "others' configs are not ours to read";
}

TEST(Refusals, AreBoundedAndForgetTheOldest) {
  Refusals refusals({.limit = 2});
  EXPECT_TRUE(refusals.empty());
  const Error error(ErrorKind::kPermanentConfig, "BadDeviceConfig", "no");
  for (const char* question : {"a", "b", "b", "c"}) refusals.Add(question, error);
  EXPECT_FALSE(refusals.empty());
  EXPECT_FALSE(refusals.Find("a").has_value());
  EXPECT_EQ(refusals.Find("b"), error);
  EXPECT_EQ(refusals.Find("c"), error);
  refusals.Add(std::string(Refusals::kMaxQuestion + 1, 'x'), error);
  EXPECT_FALSE(refusals.Find(std::string(Refusals::kMaxQuestion + 1, 'x')).has_value());
}

TEST(Refusals, EndAfterTenMinutes) {
  FakeClock clock;
  Refusals refusals({.clock = &clock});
  refusals.Add("a", Error(ErrorKind::kPermanentConfig, "BadDeviceConfig", "no"));
  clock.Advance(Refusals::kMaxAge);
  EXPECT_TRUE(refusals.Find("a").has_value());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(refusals.Find("a").has_value());
}

}  // namespace
}  // namespace tessera::driver
