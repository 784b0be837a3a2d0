// cel/test_device.h: the devices that tests ask about. The recorded answers of Kubernetes are about the same ones:
// tests/cel/oracle/main.go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

inline DeviceFacts TestNicWithLists() {
  DeviceFacts nic{.driver = "nic.example.com", .allow_multiple_allocations = true};
  AddAttribute(nic, "kind", std::string("nic"));
  AddAttribute(nic, "port", std::int64_t{2});
  AddAttribute(nic, "fabrics", std::vector<std::string>{"blue", "green"});
  AddAttribute(nic, "lanes", std::vector<std::int64_t>{0, 1, 4});
  AddAttribute(nic, "duplex", std::vector<bool>{true, false});
  AddAttribute(nic, "protocols", std::vector{Semver::Parse("1.2.0").value(), Semver::Parse("2.0.0").value()});
  AddAttribute(nic, "resource.kubernetes.io/numaNode", std::vector<std::int64_t>{3});
  AddCapacity(nic, "bandwidth", Quantity::Parse("100G").value());
  return nic;
}

}  // namespace tessera::cel
