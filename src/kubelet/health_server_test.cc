#include "kubelet/health_server.h"

#include <gmock/gmock.h>
#include <proto/grpc_health_v1.grpc.pb.h>

#include <atomic>
#include <latch>

#include "base/text.h"
#include "kubelet/test_peer.h"

namespace tessera::kubelet {
namespace {

namespace health = grpc::health::v1;
using std::chrono::milliseconds;

class HealthServerTest : public ::testing::Test {
 protected:
  void Start(std::function<Result<void>()> check, std::optional<std::uint16_t> port = {}) {
    auto server = HealthServer::Start({.socket = socket_, .port = port, .check = std::move(check)});
    ASSERT_TRUE(server.has_value()) << server.error().Text();
    server_ = std::move(*server);
  }

  static std::pair<grpc::Status, health::HealthCheckResponse> Check(const std::shared_ptr<grpc::Channel>& channel,
                                                                    const std::string& service = {}) {
    Context context;
    health::HealthCheckRequest request;
    request.set_service(service);
    health::HealthCheckResponse response;
    health::Health::Stub stub(channel);
    const grpc::Status status = stub.Check(&context, request, &response);
    return {status, response};
  }

  TempDir dir_ = TempDir::Create("health").value();
  std::filesystem::path socket_ = dir_.path() / "health.sock";
  std::unique_ptr<HealthServer> server_;
};

TEST_F(HealthServerTest, AnswersWhatTheCheckSays) {
  std::atomic<bool> well = true;
  Start([&]() -> Result<void> {
    if (well) return {};
    return Transient("Sick", "no answer");
  });
  EXPECT_EQ(server_->port(), 0);
  const auto channel = Connect(socket_);
  for (const std::string service : {"", "liveness"}) {
    const auto [status, response] = Check(channel, service);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.status(), health::HealthCheckResponse::SERVING);
  }
  well = false;
  EXPECT_EQ(Check(channel).second.status(), health::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(channel, "readiness").first.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthServerTest, WatchIsNotImplemented) {
  Start([]() -> Result<void> { return {}; });
  Context context;
  health::Health::Stub stub(Connect(socket_));
  const auto reader = stub.Watch(&context, {});
  health::HealthCheckResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(HealthServerTest, ListensOnTcpWhenAsked) {
  Start([]() -> Result<void> { return {}; }, 0);
  ASSERT_NE(server_->port(), 0);
  const auto channel =
      grpc::CreateChannel(Format("ipv4:127.0.0.1:{}", server_->port()), grpc::InsecureChannelCredentials());
  EXPECT_TRUE(Check(channel).first.ok());
  EXPECT_TRUE(Check(Connect(socket_)).first.ok());

  const auto second = HealthServer::Start(
      {.socket = dir_.path() / "other.sock", .port = server_->port(), .check = []() -> Result<void> { return {}; }});
  ASSERT_FALSE(second.has_value()) << "a port is not shared";
  EXPECT_EQ(second.error().code(), "ListenFailed");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "other.sock"));
}

TEST_F(HealthServerTest, ASlowCheckHoldsUpNobodyElse) {
  std::latch entered(1), go_on(1);
  std::atomic<int> runs = 0;
  Start([&]() -> Result<void> {
    if (++runs == 1) {
      entered.count_down();
      go_on.wait();
    }
    return {};
  });
  const auto channel = Connect(socket_);
  std::vector<std::jthread> callers;
  std::atomic<int> served = 0;
  const auto call = [&] {
    if (Check(channel).first.ok()) ++served;
  };
  callers.emplace_back(call);
  entered.wait();
  for (int i = 0; i < 8; ++i) callers.emplace_back(call);
  EXPECT_EQ(Check(channel, "readiness").first.error_code(), grpc::StatusCode::NOT_FOUND) << "gRPC's threads are free";
  go_on.count_down();
  callers.clear();
  EXPECT_EQ(served, 9);
  EXPECT_GE(runs, 2) << "an answer is never older than its question";
}

TEST_F(HealthServerTest, EndsWithCallersWaiting) {
  std::latch entered(1), go_on(1);
  Start([&]() -> Result<void> {
    entered.count_down();
    go_on.wait();
    return {};
  });
  std::vector<std::jthread> callers;
  callers.emplace_back([&] { EXPECT_TRUE(Check(Connect(socket_)).first.ok()); });
  entered.wait();
  std::jthread opener([&] { go_on.count_down(); });
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

}  // namespace
}  // namespace tessera::kubelet
