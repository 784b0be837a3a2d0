#include "kubelet/neighbours.h"

#include <gmock/gmock.h>
#include <proto/pod_resources_v1.grpc.pb.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include "kubelet/served_socket.h"
#include "kubelet/test_peer.h"

namespace tessera::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NeighboursTest : public ::testing::Test {
 protected:
  TempDir dir_ = TempDir::Create("neighbours").value();
  std::filesystem::path socket_ = dir_.path() / "kubelet.sock";
};

// Serves one list, as a kubelet does.
class PodResources final : public v1::PodResourcesLister::CallbackService {
 public:
  v1::ListPodResourcesResponse list;

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListPodResourcesRequest*,
                                 v1::ListPodResourcesResponse* response) override {
    *response = list;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

TEST_F(NeighboursTest, ADeadOrAbsentSocketFailsAtOnce) {
  const auto absent = AskPlugin(socket_, kPatience);
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code(), "NobodyListens");
  EXPECT_EQ(absent.error().kind(), ErrorKind::kTransient);
  const auto list = ListPodDevices(socket_, kPatience);
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().code(), "NobodyListens");
}

TEST_F(NeighboursTest, ASocketThatIsNoPluginIsAnError) {
  PodResources service;
  const std::array<grpc::Service*, 1> services{&service};
  const auto served = ServedSocket::Open({.path = socket_, .services = services});
  ASSERT_TRUE(served.has_value());
  const auto info = AskPlugin(socket_, kPatience);
  ASSERT_FALSE(info.has_value());
  EXPECT_EQ(info.error().code(), "CallNotImplemented");
}

TEST_F(NeighboursTest, ListsWhoHoldsWhichDevice) {
  PodResources service;
  v1::PodResources& pod = *service.list.add_pod_resources();
  pod.set_namespace_("ml");
  pod.set_name("train-0");
  v1::ContainerResources& container = *pod.add_containers();
  container.set_name("cuda");
  v1::ContainerDevices& devices = *container.add_devices();
  devices.set_resource_name("nvidia.com/gpu");
  devices.add_device_ids("GPU-1::0");
  devices.add_device_ids("GPU-1::1");
  v1::DynamicResource& claim = *container.add_dynamic_resources();
  claim.set_claim_namespace("ml");
  claim.set_claim_name("gpus");
  v1::ClaimResource& device = *claim.add_claim_resources();
  device.set_driver_name("gpu.nvidia.com");
  device.set_pool_name("node-a");
  device.set_device_name("gpu-1");
  device.add_cdi_devices()->set_name("nvidia.com/gpu=1");
  pod.add_containers()->set_name("sidecar");
  const std::array<grpc::Service*, 1> services{&service};
  const auto served = ServedSocket::Open({.path = socket_, .services = services});
  ASSERT_TRUE(served.has_value());

  const auto list = ListPodDevices(socket_, kPatience);
  ASSERT_TRUE(list.has_value()) << list.error().Text();
  ASSERT_THAT(*list, SizeIs(2));
  const PodDevices& first = list->front();
  EXPECT_EQ(first.pod_namespace + "/" + first.pod_name + "/" + first.container, "ml/train-0/cuda");
  ASSERT_THAT(first.resources, SizeIs(1));
  EXPECT_EQ(first.resources[0].name, "nvidia.com/gpu");
  EXPECT_THAT(first.resources[0].ids, ElementsAre("GPU-1::0", "GPU-1::1"));
  ASSERT_THAT(first.claims, SizeIs(1));
  EXPECT_EQ(first.claims[0].namespace_name + "/" + first.claims[0].name, "ml/gpus");
  ASSERT_THAT(first.claims[0].devices, SizeIs(1));
  EXPECT_EQ(first.claims[0].devices[0].driver, "gpu.nvidia.com");
  EXPECT_EQ(first.claims[0].devices[0].pool, "node-a");
  EXPECT_EQ(first.claims[0].devices[0].device, "gpu-1");
  EXPECT_THAT(first.claims[0].devices[0].cdi_ids, ElementsAre("nvidia.com/gpu=1"));
  EXPECT_THAT(list->back().resources, IsEmpty());
}

TEST_F(NeighboursTest, ASilentSocketCostsTheTimeoutOnly) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, socket_.c_str(), socket_.native().size());
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd.get(), 4), 0);
  const auto info = AskPlugin(socket_, std::chrono::milliseconds(50));
  ASSERT_FALSE(info.has_value());
  EXPECT_EQ(info.error().code(), "CallTimedOut");
}

TEST_F(NeighboursTest, OddNamesAreReached) {
  PodResources service;
  const std::array<grpc::Service*, 1> services{&service};
  const std::filesystem::path odd = dir_.path() / "a b%41?#.sock";
  const auto served = ServedSocket::Open({.path = odd, .services = services});
  ASSERT_TRUE(served.has_value());
  EXPECT_TRUE(ListPodDevices(odd, kPatience).has_value());
}

}  // namespace
}  // namespace tessera::kubelet
