#include "base/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>

#include "base/text.h"

namespace tessera {
namespace {

using std::chrono::microseconds;

ServiceManager::Environment Variables(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

// The manager's end, at a path or at an abstract name after a NUL.
UniqueFd Listen(std::string_view name) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  return fd;
}

std::string Receive(const UniqueFd& fd) {
  std::array<char, 256> buffer{};
  const ssize_t size = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  return size < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(size));
}

TEST(ServiceManager, IsAbsentOutsideAUnitAndThenSendingDoesNothing) {
  const auto manager = ServiceManager::Find(Variables({{"WATCHDOG_USEC", "1000"}}));
  ASSERT_TRUE(manager);
  EXPECT_FALSE(manager->present());
  EXPECT_FALSE(manager->watchdog());
  EXPECT_TRUE(manager->Send("READY=1"));
}

TEST(ServiceManager, GetsEachMessageAsOneDatagram) {
  const TempDir dir = TempDir::Create("notify").value();
  const std::string path = (dir.path() / "socket").string();
  const UniqueFd listener = Listen(path);
  const auto manager = ServiceManager::Find(Variables({{"NOTIFY_SOCKET", path}}));
  ASSERT_TRUE(manager);
  EXPECT_TRUE(manager->present());
  ASSERT_TRUE(manager->Send("READY=1\nSTATUS=fine"));
  ASSERT_TRUE(manager->Send("WATCHDOG=1"));
  EXPECT_EQ(Receive(listener), "READY=1\nSTATUS=fine");
  EXPECT_EQ(Receive(listener), "WATCHDOG=1");
}

TEST(ServiceManager, IsReachedAtAnAbstractName) {
  const std::string name = Format("tessera-notify-test-{}", ::getpid());
  const UniqueFd listener = Listen('\0' + name);
  const auto manager = ServiceManager::Find(Variables({{"NOTIFY_SOCKET", "@" + name}}));
  ASSERT_TRUE(manager);
  ASSERT_TRUE(manager->Send("READY=1"));
  EXPECT_EQ(Receive(listener), "READY=1");
}

TEST(ServiceManager, ThatIsGoneIsAnError) {
  const auto manager = ServiceManager::Find(Variables({{"NOTIFY_SOCKET", "/nowhere/notify"}}));
  ASSERT_TRUE(manager);
  const auto sent = manager->Send("READY=1");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), "NotifyFailed");
}

TEST(ServiceManager, AddressThatIsNoUnixSocketIsRefused) {
  for (const std::string& address : {std::string("vsock:2:1234"), std::string("relative"), std::string("@"),
                                     "/" + std::string(sizeof(sockaddr_un::sun_path), 'x')}) {
    SCOPED_TRACE(address);
    const auto manager = ServiceManager::Find(Variables({{"NOTIFY_SOCKET", address}}));
    ASSERT_FALSE(manager);
    EXPECT_EQ(manager.error().code(), "BadNotifySocket");
  }
}

TEST(ServiceManager, WatchesOnlyTheProcessItNames) {
  struct Case {
    std::string name, usec, pid;
    std::optional<microseconds> period;
  };
  const std::array cases{
      Case{"nobody named", "45000000", "", microseconds(45'000'000)},
      Case{"us", "45000000", std::to_string(::getpid()), microseconds(45'000'000)},
      Case{"our parent", "45000000", std::to_string(::getppid()), std::nullopt},
      Case{"not asked for", "", "", std::nullopt},
      Case{"no period", "0", "", std::nullopt},
      Case{"no number", "45s", "", std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto manager = ServiceManager::Find(
        Variables({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", c.usec}, {"WATCHDOG_PID", c.pid}}));
    ASSERT_TRUE(manager);
    EXPECT_EQ(manager->watchdog(), c.period);
  }
}

}  // namespace
}  // namespace tessera
