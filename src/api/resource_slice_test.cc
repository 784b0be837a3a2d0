#include "api/resource_slice.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

TEST(ResourceSlice, PrintsAsTheApiTakesIt) {
  ResourceSlice slice{
      "00000-gpu.nvidia.com-n1-", OwnerReference{"v1", "Node", "n1", "u-1"}, "gpu.nvidia.com", "n1", "n1", 2, 1, {}};
  Device device;
  device.name = "gpu-0";
  device.attributes["type"] = std::string("gpu");
  device.attributes["driverVersion"] = Version{"580.159.4"};
  device.attributes["pcieWidth"] = std::int64_t{16};
  device.attributes["eccEnabled"] = true;
  device.capacity["memory"] = Quantity::FromBytes(42949672960);
  slice.devices.push_back(device);
  EXPECT_EQ(
      json::PrintJson(ToJson(slice)),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"generateName":"00000-gpu.nvidia.com-n1-",)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u-1","controller":true}]},)"
      R"("spec":{"driver":"gpu.nvidia.com","nodeName":"n1","pool":{"name":"n1","generation":2,"resourceSliceCount":1},)"
      R"("devices":[{"name":"gpu-0","attributes":{"driverVersion":{"version":"580.159.4"},"eccEnabled":{"bool":true},)"
      R"("pcieWidth":{"int":16},"type":{"string":"gpu"}},"capacity":{"memory":{"value":"40Gi"}}}]}})");
}

TEST(ResourceSlice, LeavesOutAnEmptyDeviceList) {
  const ResourceSlice slice{"x-", std::nullopt, "d", "n", "n", 1, 1, {}};
  EXPECT_EQ(json::PrintJson(ToJson(slice)),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"generateName":"x-"},)"
            R"("spec":{"driver":"d","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1}}})");
}

}  // namespace
}  // namespace tessera::api
