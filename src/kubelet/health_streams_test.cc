#include "kubelet/health_streams.h"

#include <gmock/gmock.h>
#include <proto/dra_health_v1.grpc.pb.h>
#include <proto/dra_health_v1alpha1.grpc.pb.h>

#include "kubelet/test_peer.h"

namespace tessera::kubelet {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

template <class Api>
struct OpenStream {
  explicit OpenStream(const std::shared_ptr<grpc::Channel>& channel)
      : stub(channel), reader(stub.NodeWatchResources(&context, {})) {}

  std::optional<typename Api::Response> Next() {
    typename Api::Response response;
    if (!reader->Read(&response)) return std::nullopt;
    return response;
  }

  Context context;
  typename Api::Stub stub;
  std::unique_ptr<grpc::ClientReader<typename Api::Response>> reader;
};
struct V1 {
  using Stub = v1::DRAResourceHealth::Stub;
  using Response = v1::NodeWatchResourcesResponse;
};
struct V1alpha1 {
  using Stub = v1alpha1::DRAResourceHealth::Stub;
  using Response = v1alpha1::NodeWatchResourcesResponse;
};

std::vector<std::string> Names(const auto& response) {
  std::vector<std::string> names;
  for (const auto& device : response.devices()) names.push_back(device.device().device_name());
  return names;
}

DeviceHealth Device(std::string name, Health health = Health::kHealthy) {
  return {.pool = "node-a",
          .device = std::move(name),
          .health = health,
          .updated = std::chrono::system_clock::time_point(seconds(1'700'000'000))};
}

class HealthStreamsTest : public PluginTest {
 protected:
  void Report(std::vector<DeviceHealth> devices, seconds age = seconds(0)) {
    server_->SetHealth(std::move(devices), std::chrono::steady_clock::now() - age);
  }
};

TEST_F(HealthStreamsTest, AnOpenedStreamGetsEverythingInBothVersions) {
  Start();
  DeviceHealth lost = Device("gpu-1", Health::kUnhealthy);
  lost.message = "XID 79: the GPU has fallen off the bus";
  lost.lease = seconds(45);
  Report({Device("gpu-0"), lost});

  OpenStream<V1> stream(Connect(paths_.service));
  const auto report = stream.Next();
  ASSERT_TRUE(report.has_value());
  ASSERT_THAT(Names(*report), ElementsAre("gpu-0", "gpu-1"));
  const v1::DeviceHealth& device = report->devices(1);
  EXPECT_EQ(device.device().pool_name(), "node-a");
  EXPECT_EQ(device.health(), v1::UNHEALTHY);
  EXPECT_EQ(device.last_updated_time(), 1'700'000'000);
  EXPECT_EQ(device.health_check_timeout_seconds(), 45);
  EXPECT_EQ(device.message(), lost.message);

  OpenStream<V1alpha1> alpha(Connect(paths_.service));
  const auto alpha_report = alpha.Next();
  ASSERT_TRUE(alpha_report.has_value());
  EXPECT_EQ(alpha_report->SerializeAsString(), report->SerializeAsString());
}

TEST_F(HealthStreamsTest, AChangeReachesAllStreams) {
  Start();
  OpenStream<V1> first(Connect(paths_.service));
  OpenStream<V1alpha1> second(Connect(paths_.service));
  ASSERT_THAT(Names(first.Next().value()), ElementsAre()) << "an empty report is legal";
  ASSERT_THAT(Names(second.Next().value()), ElementsAre());
  Report({Device("gpu-0")});
  EXPECT_THAT(Names(first.Next().value()), ElementsAre("gpu-0"));
  EXPECT_THAT(Names(second.Next().value()), ElementsAre("gpu-0"));
}

TEST_F(HealthStreamsTest, TheReportIsRepeated) {
  options_.health_resend = seconds(1);
  Start();
  Report({Device("gpu-0")});
  OpenStream<V1> stream(Connect(paths_.service));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Names(stream.Next().value()), ElementsAre("gpu-0"));
}

TEST_F(HealthStreamsTest, TheReportIsRepeatedWithinAThirdOfTheShortestLease) {
  options_.health_resend = std::chrono::hours(1);
  Start();
  DeviceHealth brief = Device("gpu-1");
  brief.lease = seconds(3);
  Report({Device("gpu-0"), brief});
  OpenStream<V1> stream(Connect(paths_.service));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Names(stream.Next().value()), ElementsAre("gpu-0", "gpu-1"));
}

TEST_F(HealthStreamsTest, NothingIsSaidOfAReportThatNobodyConfirms) {
  options_.health_resend = seconds(1);
  Start();
  Report({Device("gpu-0")}, seconds(60));
  OpenStream<V1> stream(Connect(paths_.service));
  ASSERT_TRUE(Eventually([&] { return server_->health_streams() == 1; }));
  Report({Device("gpu-0", Health::kUnhealthy)}, seconds(60));
  Report({Device("gpu-0"), Device("gpu-1")});
  EXPECT_THAT(Names(stream.Next().value()), ElementsAre("gpu-0", "gpu-1")) << "neither of the old ones";
}

TEST_F(HealthStreamsTest, AConfirmedReportIsNoNews) {
  options_.health_resend = std::chrono::hours(1);
  Start();
  OpenStream<V1> stream(Connect(paths_.service));
  ASSERT_TRUE(stream.Next().has_value());  // Open before the first report, which it could otherwise get twice.
  DeviceHealth device = Device("gpu-0");
  device.lease = std::chrono::hours(3);
  Report({device});
  ASSERT_EQ(stream.Next().value().devices(0).health(), v1::HEALTHY);
  device.updated += seconds(5);
  Report({device});
  device.health = Health::kUnhealthy;
  Report({device});
  EXPECT_EQ(stream.Next().value().devices(0).health(), v1::UNHEALTHY);
}

TEST_F(HealthStreamsTest, MessagesAreCutAtACharacter) {
  Start();
  DeviceHealth device = Device("gpu-0");
  device.message = std::string(1023, 'x') + "€";
  Report({device});
  OpenStream<V1> stream(Connect(paths_.service));
  EXPECT_EQ(stream.Next().value().devices(0).message(), std::string(1023, 'x'));
}

TEST_F(HealthStreamsTest, StopEndsStreamsAtOnce) {
  Start();
  OpenStream<V1> stream(Connect(paths_.service));
  ASSERT_TRUE(stream.Next().has_value());
  server_->Stop(std::chrono::milliseconds(0));
  EXPECT_FALSE(stream.Next().has_value());
  EXPECT_EQ(stream.reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HealthStreamsTest, CancelledStreamsMakeRoom) {
  Start();
  const auto channel = Connect(paths_.service);
  for (std::size_t i = 0; i < 2 * HealthStreams::kMaxStreams; ++i) {
    ASSERT_TRUE(Eventually([&] {
      OpenStream<V1> stream(channel);
      const bool opened = stream.Next().has_value();
      stream.context.TryCancel();
      return opened;
    }));
  }
}

TEST_F(HealthStreamsTest, TooManyStreamsAreRefused) {
  Start();
  const auto channel = Connect(paths_.service);
  std::vector<std::unique_ptr<OpenStream<V1>>> open;
  for (std::size_t i = 0; i < HealthStreams::kMaxStreams; ++i) {
    open.push_back(std::make_unique<OpenStream<V1>>(channel));
    ASSERT_TRUE(open.back()->Next().has_value());
  }
  OpenStream<V1> surplus(channel);
  EXPECT_FALSE(surplus.Next().has_value());
  EXPECT_EQ(surplus.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(HealthStreamsTest, AReaderThatDoesNotReadHoldsNothingUp) {
  Start();
  OpenStream<V1> lazy(Connect(paths_.service));
  std::vector<DeviceHealth> many;
  for (int i = 0; i < 500; ++i) many.push_back(Device("gpu-" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) {
    many.front().message = std::string(1000, static_cast<char>('a' + i % 26));
    Report(many);
  }
  OpenStream<V1> other(Connect(paths_.service));
  EXPECT_EQ(other.Next().value().devices_size(), 500);
  server_.reset();
}

}  // namespace
}  // namespace tessera::kubelet
