// tests/standin/kubelet.h: the kubelet's side of plugin registration, DRA calls and health streams, in one class.
//
// Written from what Kubernetes 1.34 to 1.37 do, not from what our server expects: it is the judge. Only the waiting times
// are shorter, and can be set to the real ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tests {

class Kubelet {
 public:
  // What differs between them here: a failed registration is tried again (1.36), health streams are opened only where
  // advertised and in v1 (1.37).
  enum class Release : std::uint8_t { k1_34, k1_37 };

  struct Options {
    std::filesystem::path registry;  // Must exist.
    Release release = Release::k1_37;
    std::vector<std::string> dra_services{"v1.DRAPlugin", "v1beta1.DRAPlugin"};  // Those this kubelet speaks.
    bool watch_health = true;
    std::optional<std::filesystem::path> pod_resources = {};  // Where to serve PodResources.
    std::chrono::milliseconds tick{20};                       // 1 s in a real one.
    std::chrono::milliseconds dial_timeout{1'000};            // A socket that nobody serves, one at a time. 10 s.
    std::chrono::milliseconds retry{50};                      // After a failed registration, doubling. 500 ms.
    std::chrono::milliseconds health_restart{100};            // After a stream's end. 5 s.
    std::chrono::milliseconds wipe_grace{30'000};             // Without a connected instance, before on_wipe.
    std::function<void(const std::string& driver)> on_wipe =
        {};  // Slices are deleted; "" at start: those of all drivers.
  };
  explicit Kubelet(Options options);  // Sockets that exist are treated as new.
  ~Kubelet();

  // One registration socket that has been accepted.
  struct Instance {
    std::string driver, endpoint;
    std::string service;         // "v1.DRAPlugin"
    std::string health_service;  // "v1.DRAResourceHealth"; empty: no stream.
    std::filesystem::path socket;
    bool connected = false;
  };
  std::vector<Instance> Instances(const std::string& driver) const;  // In the order of registration.
  bool WaitForInstances(const std::string& driver, std::size_t count, std::chrono::milliseconds timeout) const;

  // Forgets everything but its options and starts again. Drivers see new calls to their running sockets.
  void Restart();
  // Registrations fail with this text at the step where an endpoint is already taken. Empty: no more.
  void Refuse(std::string text);
  // What happened, in words near the kubelet's log: "Registered DRA plugin gpu.nvidia.com at <endpoint>".
  std::vector<std::string> Log() const;

  struct Claim {
    std::string namespace_name, name, uid;
  };
  struct Device {
    std::vector<std::string> requests;
    std::string pool, name;
    std::vector<std::string> cdi_ids;
    std::optional<std::string> share_id;
  };
  struct ClaimAnswer {
    std::string error;
    bool permanent = false;  // KEP-5322's field 3.
    std::vector<Device> devices;
  };
  struct Answer {
    std::string error;  // As the pod's event has it after "prepare dynamic resources: "; empty when all went well.
    int grpc_code = 0;
    std::map<std::string, ClaimAnswer> claims;  // By UID, as the driver sent them.

    bool ok() const { return error.empty(); }
  };
  // One call to the most recent instance that is connected, or to the most recent. Safe from many threads.
  Answer Prepare(const std::string& driver, const std::vector<Claim>& claims,
                 std::chrono::milliseconds timeout = std::chrono::seconds(45));
  Answer Unprepare(const std::string& driver, const std::vector<Claim>& claims,
                   std::chrono::milliseconds timeout = std::chrono::seconds(45));

  struct DeviceHealth {
    std::string health, message;  // "Healthy", "Unhealthy", "Unknown"
    std::chrono::seconds lease{0};
    std::chrono::steady_clock::time_point received;
  };
  // What pods would show, by "pool/device". A lease that has run out is Unknown.
  std::map<std::string, DeviceHealth> Health(const std::string& driver) const;
  std::uint64_t HealthReports(const std::string& driver) const;  // Messages received so far.

  // One container's devices from a device plugin, for PodResources.
  struct HeldDevices {
    std::string pod_namespace, pod_name, container, resource;
    std::vector<std::string> ids;
  };
  void SetPodResources(std::vector<HeldDevices> held);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::tests
