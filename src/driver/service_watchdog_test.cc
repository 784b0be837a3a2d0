#include "driver/service_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <semaphore>
#include <string>
#include <vector>

#include "base/fd.h"

namespace tessera::driver {
namespace {

using ::testing::Each;

// The service manager's end of the socket.
class Manager {
 public:
  Manager() {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  // As a unit of Type=notify sees it. An empty period is one without WatchdogSec=.
  ServiceManager Client(std::string period) const {
    return ServiceManager::Find([&](const char* name) -> const char* {
             if (std::string_view(name) == "NOTIFY_SOCKET") return path_.c_str();
             return std::string_view(name) == "WATCHDOG_USEC" ? period.c_str() : nullptr;
           })
        .value();
  }

  // The next message, or "nothing" after ten seconds.
  std::string Next() const {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, 10'000) == 1 ? Now() : "nothing";
  }

  std::string Now() const {
    std::array<char, 512> buffer{};
    const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  TempDir dir_ = TempDir::Create("notify").value();
  std::string path_ = (dir_.path() / "socket").string();
  UniqueFd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST(ServiceWatchdog, SaysReadyAndNothingElseWhereNobodyWatches) {
  const Manager manager;
  const std::stop_source stop;
  {
    const ServiceWatchdog watchdog(
        manager.Client(""), [] { return Result<void>(Transient("Called", "")); }, stop.get_token());
  }
  EXPECT_EQ(manager.Next(), "READY=1");
  EXPECT_EQ(manager.Now(), "nothing");
}

// The test decides when each check returns and what it says, so nothing depends on time.
TEST(ServiceWatchdog, FeedsOnlyWhileTheCheckPasses) {
  const Manager manager;
  std::stop_source stop;
  const std::vector<bool> answers{true, true, false, false, false, true, true};
  std::counting_semaphore<> done(0);
  std::size_t next = 0;
  const ServiceWatchdog watchdog(
      manager.Client("3000"),
      [&]() -> Result<void> {
        const bool fine = next >= answers.size() || answers[next];
        if (++next == answers.size()) {
          stop.request_stop();
          done.release();
        }
        if (fine) return {};
        return Transient("NobodyListens", "no one answers", "wait");
      },
      stop.get_token());
  done.acquire();
  EXPECT_EQ(manager.Next(), "READY=1");
  EXPECT_EQ(manager.Next(), "WATCHDOG=1");
  EXPECT_EQ(manager.Next(), "WATCHDOG=1");
  const std::vector<std::string> while_failing{manager.Next(), manager.Next(), manager.Next()};
  EXPECT_THAT(while_failing, Each(std::string("STATUS=NobodyListens: no one answers; wait")));
  EXPECT_EQ(manager.Next(), "STATUS=\nWATCHDOG=1");
  EXPECT_EQ(manager.Next(), "WATCHDOG=1");
}

TEST(ServiceWatchdog, CheckThatHangsFeedsNothing) {
  const Manager manager;
  std::stop_source stop;
  std::binary_semaphore called(0);
  std::binary_semaphore release(0);
  {
    const ServiceWatchdog watchdog(
        manager.Client("3000"),
        [&]() -> Result<void> {
          called.release();
          release.acquire();
          stop.request_stop();
          return {};
        },
        stop.get_token());
    called.acquire();
    EXPECT_EQ(manager.Next(), "READY=1");
    EXPECT_EQ(manager.Now(), "nothing");
    release.release();
  }
  EXPECT_EQ(manager.Now(), "WATCHDOG=1");
}

}  // namespace
}  // namespace tessera::driver
