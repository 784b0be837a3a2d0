#include "driver/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const api::ClaimRef kClaim{"ml", "train", "uid-1"};

class EventsTest : public ::testing::Test {
 protected:
  // Posts and waits until all of it is written: the destructor drains.
  template <class F>
  void Run(F post, Events::Options options = {}) {
    options.node_name = "node-a";
    options.clock = &clock_;
    Events events(options, sink_, metrics_);
    post(events);
  }
  double Count(const std::string& outcome) { return metrics_.events.With({outcome}).value(); }

  FakeClock clock_;
  FakeEvents sink_;
  Metrics metrics_{"node-a", "test"};
};

TEST_F(EventsTest, SayWhatAboutWhom) {
  Run([](Events& events) { events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", "gone"); });
  ASSERT_THAT(sink_.events(), SizeIs(1));
  const json::Value event = sink_.events()[0];
  EXPECT_EQ(event.at("involvedObject").at("kind"), json::Value("ResourceClaim"));
  EXPECT_EQ(event.at("involvedObject").at("uid"), json::Value("uid-1"));
  EXPECT_EQ(event.at("type"), json::Value("Warning"));
  EXPECT_EQ(event.at("source").at("host"), json::Value("node-a"));
  EXPECT_THAT(sink_.texts(), ElementsAre("GpuLost: gone"));
}

TEST_F(EventsTest, TheSameAgainIsCountedNotRepeated) {
  Run([](Events& events) {
    for (int i = 0; i < 5; ++i) events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", "gone");
    events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", "something else");
  });
  EXPECT_THAT(sink_.texts(), ElementsAre("GpuLost: gone", "GpuLost: something else"));
  EXPECT_EQ(Count("merged"), 4);
}

// A clock that the worker may read while a test moves it.
class SharedClock final : public Clock {
 public:
  std::chrono::system_clock::time_point Now() const override { return {}; }
  std::chrono::steady_clock::time_point Monotonic() const override {
    return std::chrono::steady_clock::time_point(std::chrono::minutes(minutes_));
  }
  void NextMinute() { ++minutes_; }

 private:
  std::atomic<int> minutes_ = 0;
};

TEST_F(EventsTest, AnHourOfRetriesCostsAFewWritesAndTheEventOutlivesIt) {
  SharedClock clock;
  Events events({.node_name = "node-a", .clock = &clock}, sink_, metrics_);
  for (int minute = 0; minute < 60; ++minute) {
    events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", "gone");
    while (Count("created") + Count("merged") + Count("repeated") < minute + 1) std::this_thread::yield();
    clock.NextMinute();
  }
  EXPECT_THAT(sink_.texts(), SizeIs(1));
  // In minutes 1, 3, 7, 15, 31 and 51. The last lives on for an hour, with what was counted.
  EXPECT_THAT(sink_.patches(), ElementsAre("train=2", "train=4", "train=8", "train=16", "train=32", "train=52"));
}

TEST_F(EventsTest, AFloodIsCutOff) {
  Run(
      [](Events& events) {
        for (int i = 0; i < 100; ++i)
          events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", std::to_string(i));
      },
      {.burst = 10});
  EXPECT_THAT(sink_.texts(), SizeIs(10));
  EXPECT_EQ(Count("dropped"), 90);
}

TEST_F(EventsTest, AClaimWithoutANameHasNone) {
  Run([](Events& events) { events.Post(ClaimTarget({"", "", "uid"}), EventType::kWarning, "GpuLost", "gone"); });
  EXPECT_THAT(sink_.texts(), IsEmpty());
}

TEST_F(EventsTest, ALongMessageIsCutAtACharacter) {
  std::string text(1023, 'x');
  text += "ä and more";
  Run([&](Events& events) { events.Post(ClaimTarget(kClaim), EventType::kWarning, "GpuLost", text); });
  EXPECT_EQ(sink_.events().at(0).at("message").as_string().size(), 1023U);
}

}  // namespace
}  // namespace tessera::driver
