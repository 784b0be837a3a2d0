#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LogTest : public ::testing::Test {
 protected:
  void Use(log::Format format, int verbosity = 0) {
    clock_.Set(std::chrono::sys_days{std::chrono::year{2026} / 8 / 21} + std::chrono::hours{9} +
               std::chrono::microseconds{1234567});
    log::Configure({format, verbosity, &clock_, [this](std::string_view line) { lines_.emplace_back(line); }});
  }
  ~LogTest() override { log::Configure({}); }

  FakeClock clock_;
  std::vector<std::string> lines_;
};

TEST_F(LogTest, TextIsKlog) {
  Use(log::Format::kText);
  log::Info("Prepared claim", {{"claim", "default/a"}, {"devices", 2}, {"ready", true}, {"note", "a \"b\"\n"}});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], MatchesRegex("I0821 09:00:01.234567 +[0-9]+ log_test.cc:[0-9]+\\] \"Prepared claim\" "
                                      "claim=\"default/a\" devices=2 ready=true note=\"a \\\\\"b\\\\\"\\\\n\"\n"));
}

TEST_F(LogTest, FailureCarriesCodeAndKind) {
  Use(log::Format::kText);
  log::Failure(Error(ErrorKind::kPermanentDevice, "GpuLost", "gpu-3 is lost", "reset it"), "Prepare failed");
  EXPECT_THAT(lines_.at(0),
              HasSubstr(R"(] "Prepare failed" err="gpu-3 is lost; reset it" code="GpuLost" kind="permanent-device")"));
  EXPECT_EQ(lines_.at(0)[0], 'E');
}

TEST_F(LogTest, JsonIsOneObjectPerLine) {
  Use(log::Format::kJson);
  log::Info("Started", {{"version", "0.1"}, {"pid", 12U}, {"odd", "\x01\""}});
  EXPECT_THAT(lines_.at(0),
              MatchesRegex("\\{\"ts\":1787302801234.567,\"caller\":\"log_test.cc:[0-9]+\",\"msg\":\"Started\","
                           "\"v\":0,\"version\":\"0.1\",\"pid\":12,\"odd\":\"\\\\u0001\\\\\"\"\\}\n"));
}

TEST_F(LogTest, VerbosityGates) {
  Use(log::Format::kJson, 2);
  log::Verbose(4, "Quiet");
  log::Verbose(2, "Heard");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], HasSubstr(R"("msg":"Heard","v":2)"));
  EXPECT_TRUE(log::V(0));
  EXPECT_TRUE(log::V(2));
  EXPECT_FALSE(log::V(4));
}

TEST_F(LogTest, LinesStayWholeAcrossThreads) {
  Use(log::Format::kText);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < 100; ++n) log::Warning("Busy", {{"n", n}});
      });
    }
  }
  ASSERT_EQ(lines_.size(), 400U);
  for (const std::string& line : lines_) {
    EXPECT_EQ(line.front(), 'W');
    EXPECT_EQ(line.back(), '\n');
  }
}

}  // namespace
}  // namespace tessera
