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

TEST(ResourceSlice, OfV1beta1HasDevicesOneLevelDown) {
  ResourceSlice slice{"x-", std::nullopt, "d", "n", "n", 1, 1, {}};
  slice.devices.push_back({"gpu-0", {{"type", std::string("gpu")}}, {}, {{"gpu.nvidia.com/held", "", "NoSchedule"}}});
  const json::Value beta = ToJson(slice, "v1beta1");
  EXPECT_EQ(beta.at("apiVersion"), json::Value("resource.k8s.io/v1beta1"));
  EXPECT_EQ(json::PrintJson(beta.at("spec").at("devices").at(0)),
            R"({"name":"gpu-0","basic":{"attributes":{"type":{"string":"gpu"}},)"
            R"("taints":[{"key":"gpu.nvidia.com/held","effect":"NoSchedule"}]}})");
}

TEST(Differences, AreOfMeaningNotOfSpelling) {
  struct Case {
    std::string_view wanted, stored;
    std::vector<std::string> paths;
  };
  const Case cases[] = {
      {R"({"a":1,"b":"x"})", R"({"b":"x","a":1})", {}},
      {R"({"a":1})", R"({"a":1,"b":null,"c":[],"d":{}})", {}},
      {R"({"a":1})", R"({"a":2})", {"spec.a"}},
      {R"({"a":1})", R"({"a":1,"b":"edited"})", {"spec.b"}},
      {R"({"a":1,"b":1})", R"({"a":1})", {"spec.b"}},
      {R"({"devices":[{"capacity":{"memory":{"value":"1Gi"}}}]})",
       R"({"devices":[{"capacity":{"memory":{"value":"1024Mi"}}}]})",
       {}},
      {R"({"devices":[{"capacity":{"memory":{"value":"1Gi"}}}]})",
       R"({"devices":[{"capacity":{"memory":{"value":"1G"}}}]})",
       {"spec.devices[0].capacity.memory.value"}},
      {R"({"name":"1Gi"})", R"({"name":"1024Mi"})", {"spec.name"}},
      {R"({"taints":[{"key":"k"}]})", R"({"taints":[{"key":"k","timeAdded":"2026-01-01T00:00:00Z"}]})", {}},
      {R"({"taints":[{"key":"k"}]})", R"({})", {"spec.taints"}},
      {R"({"devices":[1,2]})", R"({"devices":[1]})", {"spec.devices"}},
      {R"({"devices":[1,2]})", R"({"devices":[2,1]})", {"spec.devices[0]", "spec.devices[1]"}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Differences(json::ParseJson(c.wanted).value(), json::ParseJson(c.stored).value(), "spec"), c.paths)
        << c.wanted << " " << c.stored;
  }
}

}  // namespace
}  // namespace tessera::api
