// health/test_parts.h: machines, vitals and a clock for the tests of this module.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "device/snapshot.h"
#include "health/monitor.h"
#include "health/terms.h"
#include "nvml/abi.h"
#include "nvml/vitals.h"

namespace tessera::health {

inline Moment At(std::chrono::seconds passed) {
  return {std::chrono::system_clock::time_point{std::chrono::seconds{1'800'000'000} + passed},
          std::chrono::steady_clock::time_point{std::chrono::seconds{1'000'000} + passed}};
}

inline std::string Uuid(unsigned gpu) { return Format("GPU-{}", gpu); }

inline device::Device FullGpu(unsigned minor) {
  device::Device device;
  device.name = Format("gpu-{}", minor);
  device.gpu.index = device.gpu.minor = minor;
  device.gpu.uuid = Uuid(minor);
  device.gpu.product_name = "NVIDIA H200";
  device.gpu.bus_id = Format("0000:{:02x}:00.0", minor + 16);
  return device;
}

inline device::Device MigDevice(unsigned minor, unsigned gpu_instance, unsigned compute_instance = 0,
                                std::string uuid = {}) {
  device::Device device = FullGpu(minor);
  device.mig.emplace();
  device.mig->gpu_instance = gpu_instance;
  device.mig->compute_instance = compute_instance;
  device.mig->uuid = uuid.empty() ? Format("MIG-{}-{}-{}", minor, gpu_instance, compute_instance) : std::move(uuid);
  device.name = Format("gpu-{}-mig-{}-{}", minor, gpu_instance, compute_instance);
  return device;
}

inline device::Snapshot SnapshotOf(std::vector<device::Device> devices) {
  device::Snapshot snapshot;
  snapshot.devices = std::move(devices);
  return snapshot;
}

inline device::Snapshot FullGpus(unsigned count) {
  std::vector<device::Device> devices;
  for (unsigned i = 0; i < count; ++i) devices.push_back(FullGpu(i));
  return SnapshotOf(std::move(devices));
}

// A GPU of which nothing bad can be said.
inline nvml::GpuVitals GoodVitals(unsigned gpu) {
  nvml::GpuVitals vitals;
  vitals.uuid = Uuid(gpu);
  vitals.ecc_corrected = vitals.ecc_uncorrected = 0;
  vitals.ecc_corrected_lifetime = vitals.ecc_uncorrected_lifetime = 7;
  vitals.remap_pending = vitals.remap_failed = false;
  vitals.slowdown_reasons = 0;
  vitals.temperature = 40;
  vitals.pcie_generation = vitals.pcie_generation_max = 5;
  vitals.pcie_width = vitals.pcie_width_max = 16;
  vitals.busy = true;
  for (unsigned link = 0; link < 4; ++link) {
    vitals.links.push_back({.link = link, .active = true, .replay_errors = 0, .recovery_errors = 0, .crc_errors = 0});
  }
  return vitals;
}

inline nvml::MachineVitals MachineOf(std::vector<nvml::GpuVitals> gpus) {
  nvml::MachineVitals machine;
  machine.driver_version = "580.159.04";
  machine.gpus = std::move(gpus);
  return machine;
}

inline nvml::GpuEvent XidEvent(unsigned gpu, std::uint64_t code) {
  return {.type = nvml::abi::kEventXidCritical, .data = code, .uuid = Uuid(gpu)};
}

}  // namespace tessera::health
