// cel/test_device.h: the device that tests ask about. The recorded answers of Kubernetes are about the same one:
// tests/cel/oracle/main.go.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "cel/device_facts.h"

namespace tessera::cel {

inline DeviceFacts TestGpu() {
  DeviceFacts gpu{.driver = "gpu.nvidia.com"};
  AddAttribute(gpu, "type", std::string("gpu"));
  AddAttribute(gpu, "productName", std::string("NVIDIA H200"));
  AddAttribute(gpu, "architecture", std::string("Hopper"));
  AddAttribute(gpu, "minor", std::int64_t{3});
  AddAttribute(gpu, "migCapable", true);
  AddVersion(gpu, "driverVersion", "570.158.1");
  AddAttribute(gpu, "resource.kubernetes.io/pcieRoot", std::string("pci0000:40"));
  AddCapacity(gpu, "memory", Quantity::Parse("143771Mi").value());
  return gpu;
}

}  // namespace tessera::cel
