#include "metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tessera::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Registry, PrintsFamiliesByNameAndSeriesByLabels) {
  Registry registry;
  auto& errors = registry.AddCounter("b_errors_total", "Errors\nby code.", {"code", "kind"});
  auto& size = registry.AddGauge("a_size", "Size \\ bytes.");
  errors.With({"Two", "x"}).Add(2);
  errors.With({"One \"1\"\n\\", "x"}).Add();
  (*size).Set(1.5);
  EXPECT_EQ(registry.Print(),
            "# HELP a_size Size \\\\ bytes.\n"
            "# TYPE a_size gauge\n"
            "a_size 1.5\n"
            "# HELP b_errors_total Errors\\nby code.\n"
            "# TYPE b_errors_total counter\n"
            "b_errors_total{code=\"One \\\"1\\\"\\n\\\\\",kind=\"x\"} 1\n"
            "b_errors_total{code=\"Two\",kind=\"x\"} 2\n");
}

TEST(Registry, HistogramsAreCumulativeAndEndAtInfinity) {
  Registry registry;
  auto& duration = registry.AddHistogram("d_seconds", "D.", {0.1, 1}, {"phase"});
  for (const double value : {0.1, 0.5, 7.0}) duration.With({"act"}).Observe(value);
  EXPECT_EQ(registry.Print(),
            "# HELP d_seconds D.\n"
            "# TYPE d_seconds histogram\n"
            "d_seconds_bucket{phase=\"act\",le=\"0.1\"} 1\n"
            "d_seconds_bucket{phase=\"act\",le=\"1\"} 2\n"
            "d_seconds_bucket{phase=\"act\",le=\"+Inf\"} 3\n"
            "d_seconds_sum{phase=\"act\"} 7.6\n"
            "d_seconds_count{phase=\"act\"} 3\n");
}

TEST(Registry, AFamilyWithoutLabelsIsThereFromTheStart) {
  Registry registry;
  registry.AddCounter("c_total", "C.");
  registry.AddCounter("labelled_total", "L.", {"a"});
  EXPECT_THAT(registry.Print(), HasSubstr("\nc_total 0\n"));
  EXPECT_THAT(registry.Print(), Not(HasSubstr("labelled_total")));
}

TEST(Registry, ForeignLabelsCannotGrowItWithoutBound) {
  Registry registry;
  auto& counter = registry.AddCounter("c_total", "C.", {"claim"});
  for (std::size_t i = 0; i < kMaxSeries + 100; ++i) counter.With({std::to_string(i)}).Add();
  EXPECT_THAT(registry.Print(), HasSubstr("c_total{claim=\"other\"} 100\n"));
}

TEST(Registry, SeriesThatAreSetAnewLeaveNothingBehind) {
  Registry registry;
  auto& info = registry.AddGauge("claim_info", "I.", {"claim"});
  info.With({"old"}).Set(1);
  registry.OnPrint([&] {
    info.Clear();
    info.With({"new"}).Set(1);
  });
  EXPECT_THAT(registry.Print(), Not(HasSubstr("old")));
  EXPECT_THAT(registry.Print(), HasSubstr("claim_info{claim=\"new\"} 1\n"));
}

TEST(Registry, CountsFromManyThreadsAreAllThere) {
  Registry registry;
  auto& counter = registry.AddCounter("c_total", "C.", {"thread"});
  auto& histogram = registry.AddHistogram("h", "H.", {1});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          counter.With({std::to_string(i % 2)}).Add();
          (*histogram).Observe(0.5);
        }
      });
    }
    for (int i = 0; i < 20; ++i) registry.Print();
  }
  EXPECT_EQ(counter.With({"0"}).value() + counter.With({"1"}).value(), 4000);
  EXPECT_THAT(registry.Print(), HasSubstr("h_count 4000\n"));
}

TEST(ProcessMetrics, SayWhatTheKernelSays) {
  Registry registry;
  AddProcessMetrics(registry);
  const std::string text = registry.Print();
  EXPECT_THAT(text, HasSubstr("\nprocess_threads "));
  EXPECT_THAT(text, Not(HasSubstr("process_resident_memory_bytes 0\n")));
  EXPECT_THAT(text, Not(HasSubstr("process_start_time_seconds 0\n")));
  EXPECT_THAT(text, Not(HasSubstr("process_open_fds 0\n")));
}

using RegistryDeathTest = ::testing::Test;

TEST(RegistryDeathTest, ABadOrRepeatedNameIsABug) {
  Registry registry;
  registry.AddCounter("c_total", "C.");
  EXPECT_DEATH(registry.AddGauge("c_total", "C."), "metric added twice: c_total");
  EXPECT_DEATH(registry.AddGauge("c-total", "C."), "bad metric or label name");
}

}  // namespace
}  // namespace tessera::metrics
