#include "sim/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto kLong = 60s;  // Longer than any wait here may take.

Machine OneGpu() {
  Machine machine;
  machine.profile = "test";
  machine.driver_version = machine.kernel_version = "580.159.04";
  machine.nvml_header = "13.0";
  machine.models["board"].name = "NVIDIA Test";
  Gpu& gpu = machine.gpus.emplace_back();
  gpu.model = "board";
  gpu.uuid = "GPU-0";
  gpu.bus_id = "0000:07:00.0";
  gpu.pcie_root = "pci0000:00";
  return machine;
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() : dir_(TempDir::Create("store-test").value()), store_(Store::Create(root(), OneGpu()).value()) {}

  fs::path root() const { return dir_.path() / "root"; }
  fs::path state() const { return root() / kStateDir; }
  std::unique_ptr<Store> Another() const { return Store::Open(root()).value(); }

  const TempDir dir_;
  const std::unique_ptr<Store> store_;
};

Result<void> CountUp(Machine& machine) {
  ++machine.next_uuid;
  return {};
}

// Runs `work` in a child process and returns how it ended (waitpid's status).
template <class Work>
pid_t Fork(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  return child;
}
int Join(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// Gives `child` time to fall asleep, emits, and expects it to end well and at once.
void ExpectWoken(Store& store, pid_t child) {
  std::this_thread::sleep_for(100ms);
  const auto start = steady_clock::now();
  ASSERT_TRUE(store.Emit({.type = 8, .data = 79}).has_value());
  EXPECT_EQ(Join(child), 0);
  EXPECT_LT(steady_clock::now() - start, 600ms) << "woken, not found by looking again";
}

TEST_F(StoreTest, TwoStoresSeeEachOthersChanges) {
  const auto other = Another();
  const auto before = other->Read().value();
  EXPECT_EQ(before, other->Read().value()) << "the same object while nothing changes";
  ASSERT_TRUE(store_
                  ->Update([](Machine& m) -> Result<void> {
                    m.gpus[0].lost = true;
                    return {};
                  })
                  .has_value());
  const auto after = other->Read().value();
  EXPECT_TRUE(after->gpus[0].lost);
  EXPECT_FALSE(before->gpus[0].lost);
  EXPECT_GT(after->generation, before->generation);
  EXPECT_EQ(*after, *store_->Read().value());
}

TEST_F(StoreTest, RefusedOrEmptyChangeChangesNothing) {
  const auto before = store_->Read().value();
  const auto refused = store_->Update([](Machine& m) -> Result<void> {
    m.gpus.clear();
    return BadConfig("No", "not today");
  });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), "No");
  ASSERT_TRUE(store_->Update([](Machine&) -> Result<void> { return {}; }).has_value());
  EXPECT_EQ(before, store_->Read().value());
}

TEST_F(StoreTest, CreateAgainIsSeenByThoseWhoHaveItOpen) {
  const auto other = Another();
  Machine machine = OneGpu();
  machine.profile = "second";
  ASSERT_TRUE(Store::Create(root(), machine).has_value());
  EXPECT_EQ(other->Read().value()->profile, "second");
}

TEST_F(StoreTest, ConcurrentUpdatesLoseNothing) {
  constexpr int kProcesses = 4, kUpdates = 25;
  const auto before = store_->Read().value()->next_uuid;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(Fork([&] {
      const auto mine = Another();
      for (int n = 0; n < kUpdates; ++n) {
        if (!mine->Update(CountUp).has_value()) return false;
      }
      return true;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Join(child), 0);
  EXPECT_EQ(store_->Read().value()->next_uuid, before + std::uint64_t{kProcesses} * kUpdates);
}

TEST_F(StoreTest, EventsArriveInOrderAndOnce) {
  const auto other = Another();
  const std::uint64_t start = other->LastEvent();
  ASSERT_TRUE(store_->Emit({.minor = 1, .type = 8, .data = 48}).has_value());
  ASSERT_TRUE(other->Emit({.minor = 2, .type = 8, .data = 79, .gpu_instance = 3}).has_value());
  const auto events = other->WaitEvents(start, 0ms).value();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], (Event{.sequence = start + 1, .minor = 1, .type = 8, .data = 48}));
  EXPECT_EQ(events[1].gpu_instance, 3U);
  EXPECT_EQ(other->WaitEvents(start + 1, 0ms).value().size(), 1U);
  EXPECT_TRUE(other->WaitEvents(other->LastEvent(), 0ms).value().empty());
}

TEST_F(StoreTest, EventsEmittedTogetherKeepTheirOrderAfterEarlierOnes) {
  ASSERT_TRUE(store_->Emit({.type = 8, .data = 1}).has_value());
  const std::uint64_t start = store_->LastEvent();
  const std::vector<Event> together{{.type = 8, .data = 2}, {.type = 8, .data = 3}};
  ASSERT_TRUE(store_->EmitAll(together).has_value());
  const auto events = store_->WaitEvents(start - 1, 0ms).value();
  ASSERT_EQ(events.size(), 3U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence, start + i);
    EXPECT_EQ(events[i].data, i + 1);
  }
}

TEST_F(StoreTest, EventsAreBounded) {
  std::vector<Event> many;
  for (std::size_t i = 0; i < kMaxEvents; ++i) many.push_back({.type = 8, .data = i});
  ASSERT_TRUE(store_->EmitAll(many).has_value());
  for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(store_->Emit({.type = 8, .data = kMaxEvents + i}).has_value());
  const auto events = store_->WaitEvents(0, 0ms).value();
  ASSERT_EQ(events.size(), kMaxEvents);
  EXPECT_EQ(events.front().data, 5U);
  EXPECT_EQ(events.back().sequence, store_->LastEvent());
}

TEST_F(StoreTest, EmitWakesAWaiterInAnotherProcess) {
  const pid_t child = Fork([&] {
    const auto mine = Another();
    const auto events = mine->WaitEvents(0, kLong);
    return events.has_value() && events->size() == 1 && events->front().data == 79;
  });
  ExpectWoken(*store_, child);
}

TEST_F(StoreTest, UpdateEndsAWait) {
  const auto seen = store_->Read().value()->generation;
  const std::jthread waiter([&] {
    const auto mine = Another();
    const auto start = steady_clock::now();
    EXPECT_TRUE(mine->WaitEvents(mine->LastEvent(), kLong, seen).value().empty());
    EXPECT_LT(steady_clock::now() - start, kLong / 2);
  });
  ASSERT_TRUE(store_->Update(CountUp).has_value());
}

TEST_F(StoreTest, WaitLastsAsLongAsAsked) {
  const auto start = steady_clock::now();
  EXPECT_TRUE(store_->WaitEvents(store_->LastEvent(), 30ms).value().empty());
  EXPECT_GE(steady_clock::now() - start, 30ms);
}

// Kills a child somewhere inside a loop of `work`, many times, and looks at what is left.
template <class Work>
void KillOften(const Work& work) {
  for (int round = 0; round < 20; ++round) {
    const pid_t child = Fork([&] {
      for (;;) work();
      return true;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 397 * round));  // Not waiting: choosing the moment.
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    Join(child);
  }
}

TEST_F(StoreTest, KilledWriterLeavesAReadableState) {
  const auto other = Another();
  KillOften([&] {
    (void)store_->Update(CountUp);
    (void)store_->Emit({.type = 8, .data = 1});
  });
  const auto left = other->Read();
  ASSERT_TRUE(left.has_value()) << left.error().Text();
  EXPECT_EQ((*left)->gpus.size(), 1U);
  EXPECT_EQ(Another()->Read().value()->next_uuid, (*left)->next_uuid) << "old and new readers agree";
  ASSERT_TRUE(other->Update(CountUp).has_value()) << "the lock is free";
  EXPECT_EQ(store_->Read().value()->next_uuid, (*left)->next_uuid + 1);
  const auto last = other->LastEvent();
  ASSERT_TRUE(other->Emit({.type = 8, .data = 2}).has_value());
  EXPECT_EQ(store_->WaitEvents(last, 0ms).value().size(), 1U);
}

// What a writer leaves that dies after it announced a generation and before it stored it.
TEST_F(StoreTest, AnnouncedButNeverStoredIsTheOldState) {
  const UniqueFd page{::open((state() / "page").c_str(), O_RDWR | O_CLOEXEC)};
  std::uint64_t generation = 0;
  ASSERT_EQ(::pread(page.get(), &generation, sizeof(generation), 8), 8);
  ++generation;
  ASSERT_EQ(::pwrite(page.get(), &generation, sizeof(generation), 8), 8);
  const auto seen = store_->Read().value()->generation;
  EXPECT_EQ(seen, generation - 1);
  const auto start = steady_clock::now();
  EXPECT_TRUE(store_->WaitEvents(store_->LastEvent(), 30ms, seen).value().empty());
  EXPECT_GE(steady_clock::now() - start, 30ms) << "a wait is no busy loop";
  ASSERT_TRUE(store_->Update(CountUp).has_value());
  EXPECT_EQ(Another()->Read().value()->generation, generation + 1);
}

TEST_F(StoreTest, ReadOnlyMountCanReadAndWait) {
  const pid_t child = Fork([&] {
    if (::unshare(CLONE_NEWNS) != 0) return true;  // Needs root; nothing to test without it.
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount(state().c_str(), state().c_str(), nullptr, MS_BIND, nullptr) != 0) return true;
    if (::mount(nullptr, state().c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) return false;
    const auto mine = Store::Open(root());
    if (!mine) return false;
    const auto changed = (*mine)->Update(CountUp);
    const auto events = (*mine)->WaitEvents(0, kLong);
    return (*mine)->Read().has_value() && !changed && changed.error().code() == "StateReadOnly" && events.has_value() &&
           events->size() == 1;
  });
  ExpectWoken(*store_, child);
}

TEST_F(StoreTest, BadStateIsAClearError) {
  struct Case {
    std::string_view name, file, content, code, text;
  };
  constexpr Case kCases[] = {
      {"not JSON", "state.json", "{\"profile\": ", "", "state.json"},
      {"other JSON", "state.json", "{\"profile\": 1}", "", "profile: expected string"},
      {"page cut short", "page", "TS", "StateInvalid", "page"},
      {"page of something else", "page", "0123456789012345678901234567890123456789", "StateInvalid", "tessera-sim"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const TempDir dir = TempDir::Create("store-test").value();
    ASSERT_TRUE(Store::Create(dir.path() / "root", OneGpu()).has_value());
    ASSERT_TRUE(ReplaceFile(dir.path() / "root" / kStateDir / c.file, c.content).has_value());
    const auto store = Store::Open(dir.path() / "root");
    ASSERT_FALSE(store.has_value());
    EXPECT_TRUE(c.code.empty() || store.error().code() == c.code) << store.error().code();
    EXPECT_NE(store.error().Text().find(c.text), std::string::npos) << store.error().Text();
  }
  EXPECT_EQ(Store::Open(dir_.path() / "nowhere").error().code(), "StateNotFound");
}

}  // namespace
}  // namespace tessera::sim
