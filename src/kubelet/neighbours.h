// kubelet/neighbours.h: what else lives on the node's sockets: another driver of our name, and the kubelet's list of
// who holds which device.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::kubelet {

// What a registration socket answers.
struct PluginInfo {
  std::string type, name, endpoint;
  std::vector<std::string> versions;
};
// Transient "NobodyListens" when the socket is dead or absent.
Result<PluginInfo> AskPlugin(const std::filesystem::path& registration_socket, std::chrono::milliseconds timeout);

// A container's devices, from the kubelet's PodResources API (v1 List).
struct PodDevices {
  std::string pod_namespace, pod_name, container;
  struct Resource {
    std::string name;              // "nvidia.com/gpu"
    std::vector<std::string> ids;  // "GPU-…", "MIG-…", "GPU-…::2" for replicas.
  };
  std::vector<Resource> resources;
  struct Claim {
    std::string namespace_name, name;
    struct Device {
      std::string driver, pool, device;
      std::vector<std::string> cdi_ids;
    };
    std::vector<Device> devices;
  };
  std::vector<Claim> claims;
};
Result<std::vector<PodDevices>> ListPodDevices(const std::filesystem::path& socket, std::chrono::milliseconds timeout);

}  // namespace tessera::kubelet
