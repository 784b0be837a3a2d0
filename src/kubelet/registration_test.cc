#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "kubelet/neighbours.h"
#include "kubelet/test_peer.h"
#include "kubelet/unix_socket.h"

namespace tessera::kubelet {
namespace {

namespace fs = std::filesystem;
namespace reg = pluginregistration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

mode_t ModeOf(const fs::path& path) {
  struct stat info{};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

// A socket file; nobody listens once the descriptor is closed.
UniqueFd Bind(const fs::path& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

class RegistrationTest : public PluginTest {
 protected:
  void Notify(bool registered, const std::string& error = {}) {
    Context context;
    reg::RegistrationStatus request;
    request.set_plugin_registered(registered);
    request.set_error(error);
    reg::RegistrationStatusResponse response;
    reg::Registration::Stub stub(Connect(paths_.registration));
    const grpc::Status status = stub.NotifyRegistrationStatus(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  bool WaitFor(Registration state) {
    return Eventually([&] { return server_->registration().state == state; });
  }
};

TEST_F(RegistrationTest, TellsTheKubeletWhoWeAreInTheOrderItChoosesBy) {
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  const auto info = AskPlugin(paths_.registration, kPatience);
  ASSERT_TRUE(info.has_value()) << info.error().Text();
  EXPECT_EQ(info->type, "DRAPlugin");
  EXPECT_EQ(info->name, "gpu.nvidia.com");
  EXPECT_EQ(info->endpoint, (dir_.path() / "plugins/dra.sock").native());
  EXPECT_THAT(info->versions,
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"));
}

TEST_F(RegistrationTest, OnlyTheKubeletsQuestionsAreCounted) {
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  ASSERT_TRUE(server_->Probe(kPatience).has_value());
  EXPECT_EQ(server_->registration().attempts, 0U);
  Context context;
  reg::PluginInfo info;
  reg::Registration::Stub stub(Connect(paths_.registration));
  ASSERT_TRUE(stub.GetInfo(&context, {}, &info).ok());
  EXPECT_EQ(server_->registration().attempts, 1U);
}

TEST_F(RegistrationTest, AnyAuthorityIsAccepted) {
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  const std::string raw = paths_.registration.native();
  std::string encoded;
  for (const char c : raw) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
  for (const std::string& authority : {std::string("localhost"), encoded, raw}) {
    SCOPED_TRACE(authority);
    Context context;
    reg::PluginInfo info;
    reg::Registration::Stub stub(Connect(paths_.registration, authority));
    const grpc::Status status = stub.GetInfo(&context, {}, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(RegistrationTest, SocketsAppearInOrderAndOnlyForTheirOwner) {
  Start();
  EXPECT_EQ(ModeOf(paths_.service), 0600U);
  EXPECT_FALSE(fs::exists(paths_.registration));
  EXPECT_EQ(server_->registration().state, Registration::kNone);
  ASSERT_TRUE(server_->Register().has_value());
  EXPECT_EQ(ModeOf(paths_.registration), 0600U);
  EXPECT_EQ(server_->registration().state, Registration::kWaiting);
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.registry), {}), 1) << "no other file may be left";
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.directory), {}), 1);
}

TEST_F(RegistrationTest, StaleSocketsAreReplaced) {
  paths_ = MakeSocketPaths(options_).value();
  Bind(paths_.service);
  Bind(paths_.registration);
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  EXPECT_TRUE(AskPlugin(paths_.registration, kPatience).has_value());
  EXPECT_TRUE(server_->Probe(kPatience).has_value());
}

TEST_F(RegistrationTest, RegisteringAgainMakesANewSocket) {
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  const auto held = Connect(paths_.registration);
  const auto before = SocketAt(paths_.registration);
  const fs::path kept = dir_.path() / "kept";  // Keeps the inode, so that its number is not used again.
  fs::create_hard_link(paths_.registration, kept);
  ASSERT_TRUE(server_->Register().has_value());
  EXPECT_NE(SocketAt(paths_.registration), before);
  EXPECT_TRUE(AskPlugin(paths_.registration, kPatience).has_value());
}

TEST_F(RegistrationTest, StateFollowsTheKubelet) {
  std::mutex mutex;
  std::vector<Registration> seen;
  options_.on_registration = [&](const RegistrationState& state) {
    const std::lock_guard lock(mutex);
    seen.push_back(state.state);
  };
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  Notify(true);
  EXPECT_EQ(server_->registration().state, Registration::kRegistered);
  Notify(true);  // A restarted kubelet.
  server_->Unregister();
  EXPECT_EQ(server_->registration().state, Registration::kNone);
  EXPECT_FALSE(fs::exists(paths_.registration));
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return seen.size() >= 3;
  }));
  server_.reset();
  EXPECT_THAT(seen, ElementsAre(Registration::kWaiting, Registration::kRegistered, Registration::kNone));
}

TEST_F(RegistrationTest, ARefusalIsReportedAndTheSocketMadeAgain) {
  std::mutex mutex;
  std::vector<RegistrationState> seen;
  options_.on_registration = [&](const RegistrationState& state) {
    const std::lock_guard lock(mutex);
    seen.push_back(state);
  };
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  for (std::uint64_t round = 1; round <= 2; ++round) {
    Notify(false, "endpoint already registered");
    ASSERT_TRUE(WaitFor(Registration::kWaiting)) << "the socket is made again";
    ASSERT_TRUE(Eventually([&] { return AskPlugin(paths_.registration, kPatience).has_value(); }));
    EXPECT_EQ(server_->registration().refusals, round);
  }
  Notify(true);
  EXPECT_EQ(server_->registration().state, Registration::kRegistered);
  server_->Unregister();
  server_.reset();
  ASSERT_GE(seen.size(), 2U);
  EXPECT_EQ(seen[1].state, Registration::kRefused);
  EXPECT_EQ(seen[1].error, "endpoint already registered");
}

TEST_F(RegistrationTest, NoSocketComesBackAfterUnregister) {
  options_.refused_delay = std::chrono::milliseconds(1);
  Start();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(server_->Register().has_value());
    Notify(false, "no");
    server_->Unregister();
    EXPECT_FALSE(fs::exists(paths_.registration));
    EXPECT_EQ(server_->registration().state, Registration::kNone);
  }
}

TEST_F(RegistrationTest, TheNextInstancesSocketsSurviveOurEnd) {
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  auto next = PluginServer::Start(options_, handler_);
  ASSERT_TRUE(next.has_value()) << next.error().Text();
  ASSERT_TRUE((*next)->Register().has_value());
  server_.reset();
  EXPECT_TRUE(AskPlugin(paths_.registration, kPatience).has_value());
  EXPECT_TRUE((*next)->Probe(kPatience).has_value());
  next->reset();
  EXPECT_FALSE(fs::exists(paths_.registration));
  EXPECT_FALSE(fs::exists(paths_.service));
}

TEST_F(RegistrationTest, AMissingDirectoryIsNamed) {
  fs::remove_all(options_.directory);
  const auto server = PluginServer::Start(options_, handler_);
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().code(), "DirectoryMissing");
  EXPECT_THAT(server.error().message(), HasSubstr(options_.directory.native()));

  fs::create_directories(options_.directory);
  fs::remove_all(options_.registry);
  Start();
  const auto registered = server_->Register();
  ASSERT_FALSE(registered.has_value());
  EXPECT_EQ(registered.error().code(), "DirectoryMissing");
  EXPECT_EQ(server_->registration().state, Registration::kNone);
}

TEST_F(RegistrationTest, AFileInTheWayIsNotRemoved) {
  std::ofstream(options_.directory / "dra.sock") << "not a socket";
  const auto server = PluginServer::Start(options_, handler_);
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().code(), "NotASocket");
  EXPECT_TRUE(fs::is_regular_file(options_.directory / "dra.sock"));
}

TEST_F(RegistrationTest, OnlyDeadSocketsOfThisDriverAreCleanedUp) {
  options_.instance = "11111111-2222-3333-4444-555555555555";
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  const fs::path dead_reg = options_.registry / "gpu.nvidia.com-99999999-2222-3333-4444-555555555555-reg.sock";
  const fs::path dead_dra = options_.directory / "dra-99999999-2222-3333-4444-555555555555.sock";
  Bind(dead_reg);
  Bind(dead_dra);
  const fs::path unnamed = options_.directory / ".t-abcd";  // Of an instance that died before its socket had a name.
  Bind(unnamed);
  const fs::path other = options_.registry / "compute-domain.nvidia.com-reg.sock";
  Bind(other);
  std::ofstream(options_.directory / "dra-file.sock") << "x";
  EXPECT_THAT(RemoveStaleSockets(options_), ElementsAre(unnamed, dead_dra, dead_reg));
  EXPECT_THAT(RemoveStaleSockets(options_), IsEmpty());
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(options_.directory / "dra-file.sock"));
  EXPECT_TRUE(server_->Probe(kPatience).has_value());
}

}  // namespace
}  // namespace tessera::kubelet
