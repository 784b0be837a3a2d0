#include "kubelet/neighbours.h"

#include <proto/plugin_registration.grpc.pb.h>
#include <proto/pod_resources_v1.grpc.pb.h>

#include "base/text.h"
#include "kubelet/grpc_client.h"

namespace tessera::kubelet {
namespace {

PodDevices::Claim ReadClaim(const v1::DynamicResource& resource) {
  PodDevices::Claim claim{.namespace_name = resource.claim_namespace(), .name = resource.claim_name(), .devices = {}};
  for (const v1::ClaimResource& from : resource.claim_resources()) {
    PodDevices::Claim::Device device{
        .driver = from.driver_name(), .pool = from.pool_name(), .device = from.device_name(), .cdi_ids = {}};
    for (const v1::CDIDevice& cdi : from.cdi_devices()) device.cdi_ids.push_back(cdi.name());
    claim.devices.push_back(std::move(device));
  }
  return claim;
}

PodDevices ReadContainer(const v1::PodResources& pod, const v1::ContainerResources& container) {
  PodDevices devices{.pod_namespace = pod.namespace_(),
                     .pod_name = pod.name(),
                     .container = container.name(),
                     .resources = {},
                     .claims = {}};
  for (const v1::ContainerDevices& from : container.devices()) {
    devices.resources.push_back(
        {.name = from.resource_name(), .ids = {from.device_ids().begin(), from.device_ids().end()}});
  }
  for (const v1::DynamicResource& from : container.dynamic_resources()) devices.claims.push_back(ReadClaim(from));
  return devices;
}

}  // namespace

Result<PluginInfo> AskPlugin(const std::filesystem::path& registration_socket, std::chrono::milliseconds timeout) {
  using Stub = pluginregistration::Registration::Stub;
  TESSERA_ASSIGN(const auto channel, OpenChannel(registration_socket));
  Stub stub(channel);
  TESSERA_ASSIGN(const pluginregistration::PluginInfo info,
                 Call(stub, &Stub::GetInfo, pluginregistration::InfoRequest(), timeout,
                      Format("asking {} what it is", registration_socket.native())));
  return PluginInfo{.type = info.type(),
                    .name = info.name(),
                    .endpoint = info.endpoint(),
                    .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

Result<std::vector<PodDevices>> ListPodDevices(const std::filesystem::path& socket, std::chrono::milliseconds timeout) {
  using Stub = v1::PodResourcesLister::Stub;
  TESSERA_ASSIGN(const auto channel, OpenChannel(socket));
  Stub stub(channel);
  TESSERA_ASSIGN(const v1::ListPodResourcesResponse list,
                 Call(stub, &Stub::List, v1::ListPodResourcesRequest(), timeout,
                      Format("asking {} who holds which device", socket.native())));
  std::vector<PodDevices> containers;
  for (const v1::PodResources& pod : list.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers())
      containers.push_back(ReadContainer(pod, container));
  }
  return containers;
}

}  // namespace tessera::kubelet
