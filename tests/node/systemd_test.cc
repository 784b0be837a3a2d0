// The plugin as a unit of systemd's: Type=notify, with a watchdog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include "tests/node/node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

class NotifySocket {
 public:
  NotifySocket() {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  std::string path() const { return (dir_.path() / "notify").string(); }

  std::string Next() const {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    std::array<char, 1024> buffer{};
    if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1) return "nothing";
    const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    return size < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  TempDir dir_ = TempDir::Create("notify").value();
  UniqueFd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST(Systemd, WatchdogIsFedUntilTheLivenessCheckFails) {
  Node node;
  const NotifySocket manager;
  const auto plugin = node.StartReady({}, {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "600000"}});
  EXPECT_EQ(manager.Next(), "READY=1");
  EXPECT_EQ(manager.Next(), "WATCHDOG=1");
  fs::remove(node.plugin_dir() / "dra.sock");  // The process lives, but no kubelet can reach it.
  std::string message = "WATCHDOG=1";
  while (message == "WATCHDOG=1") message = manager.Next();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(message, ::testing::StartsWith("STATUS="));
    message = manager.Next();
  }
}

TEST(Systemd, IsToldReadyWithoutDriverOrKubelet) {
  Node node({.with_driver = false, .with_kubelet = false});
  const NotifySocket manager;
  const auto plugin = node.Start({}, {{"NOTIFY_SOCKET", manager.path()}});
  EXPECT_EQ(manager.Next(), "READY=1");
}

}  // namespace
}  // namespace tessera::tests
