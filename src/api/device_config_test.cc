#include "api/device_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::api {
namespace {

using ::testing::HasSubstr;

json::Value Config(std::string_view kind, std::string_view rest = "") {
  return json::ParseYaml(Format("{{apiVersion: resource.nvidia.com/v1beta1, kind: {}{}}}", kind, rest)).value().at(0);
}

TEST(DeviceConfig, ThatAsksForNothingIsServed) {
  for (const json::Value& value :
       {Config("GpuConfig"), Config("MigDeviceConfig"), Config("GpuConfig", ", sharing: {strategy: TimeSlicing}"),
        Config("GpuConfig", ", sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}"),
        Config("GpuConfig", ", sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Default}}"),
        Config("MigDeviceConfig", ", sharing: {strategy: TimeSlicing}")}) {
    const auto config = DecodeDeviceConfig(value, "p");
    ASSERT_TRUE(config.has_value()) << config.error().Text();
    EXPECT_FALSE(Unserved(*config).has_value()) << json::PrintJson(value);
  }
}

TEST(DeviceConfig, ThatAsksForMoreSaysForWhat) {
  struct Case {
    json::Value value;
    std::string_view what;
  };
  const Case cases[] = {
      {Config("GpuConfig", ", sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50}}"), "MPS"},
      {Config("MigDeviceConfig", ", sharing: {strategy: MPS}"), "MPS"},
      {Config("GpuConfig", ", sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}"),
       "interval: Short"},
      {Config("VfioDeviceConfig", ", iommu: {backendPolicy: LegacyOnly}"), "kind: VfioDeviceConfig"},
  };
  for (const Case& c : cases) {
    const auto config = DecodeDeviceConfig(c.value, "p");
    ASSERT_TRUE(config.has_value()) << config.error().Text();
    EXPECT_THAT(Unserved(*config).value_or(""), HasSubstr(c.what));
  }
}

TEST(DeviceConfig, FaultsAreNamedAllAtOnce) {
  struct Case {
    json::Value value;
    std::string_view message;
  };
  const Case cases[] = {
      {Config("GpuConfg"), "p.kind: \"GpuConfg\" is not known; did you mean GpuConfig?"},
      {Config("GpuConfig", ", shareing: {}"), "p.shareing: unknown field"},
      {Config("GpuConfig", ", sharing: {strategy: Mps}"), "p.sharing.strategy: \"Mps\" is not a valid value"},
      {Config("GpuConfig", ", sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Shorter}, more: 1}"),
       "\"Shorter\" must be Default, Short, Medium or Long; p.sharing.more: unknown field"},
      {Config("GpuConfig", ", sharing: {strategy: MPS, timeSlicingConfig: {}}"), "belongs to strategy TimeSlicing"},
      {Config("GpuConfig", ", sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}"),
       "101 must be from 0 to 100"},
      {Config("GpuConfig", ", sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: ten}}"),
       "\"ten\" is not a valid value"},
      {Config("VfioDeviceConfig", ", iommu: {backendPolicy: Any}"), "\"Any\" must be LegacyOnly or PreferIommuFD"},
      {json::Object{{"apiVersion", "resource.nvidia.com/v1"}, {"kind", "GpuConfig"}},
       "is not resource.nvidia.com/v1beta1"},
      {json::Object{}, "p.apiVersion: required field is missing"},
      {json::Value("text"), "expected object"},
  };
  for (const Case& c : cases) {
    const auto config = DecodeDeviceConfig(c.value, "p");
    ASSERT_FALSE(config.has_value()) << json::PrintJson(c.value);
    EXPECT_THAT(config.error().Text(), HasSubstr(c.message));
    EXPECT_EQ(config.error().kind(), ErrorKind::kPermanentConfig);
  }
}

AllocationConfig From(std::string source, std::vector<std::string> requests, json::Value parameters,
                      std::string driver = "gpu.nvidia.com") {
  return {std::move(source), std::move(requests), std::move(driver), std::move(parameters)};
}

TEST(ConfigFor, TheLaterOneThatFitsWins) {
  const json::Value plain = Config("GpuConfig");
  const json::Value mps = Config("GpuConfig", ", sharing: {strategy: MPS}");
  const json::Value mig = Config("MigDeviceConfig");
  struct Case {
    std::string_view name;
    std::string_view request;
    DeviceType type;
    std::vector<AllocationConfig> configs;
    std::string_view expected;  // "" none, "plain", "mps", "mig", or the error's code.
  };
  const Case cases[] = {
      {"none", "a", DeviceType::kGpu, {}, ""},
      {"claim over class", "a", DeviceType::kGpu, {From("FromClass", {}, mps), From("FromClaim", {}, plain)}, "plain"},
      {"by request", "a", DeviceType::kGpu, {From("FromClaim", {"a"}, mps), From("FromClaim", {"b"}, plain)}, "mps"},
      {"main name covers sub-requests", "a/small", DeviceType::kGpu, {From("FromClaim", {"a"}, mps)}, "mps"},
      {"full name", "a/small", DeviceType::kGpu, {From("FromClaim", {"a/small"}, mps)}, "mps"},
      {"another sub-request's", "a/small", DeviceType::kGpu, {From("FromClaim", {"a/large"}, mps)}, ""},
      {"for all, other kind", "a", DeviceType::kMig, {From("FromClaim", {}, mig), From("FromClaim", {}, mps)}, "mig"},
      {"named, other kind", "a", DeviceType::kMig, {From("FromClaim", {"a"}, mps)}, "ConfigKindMismatch"},
      {"another driver's", "a", DeviceType::kGpu, {From("FromClaim", {}, Config("Nonsense"), "nic.example.com")}, ""},
      {"bad", "a", DeviceType::kGpu, {From("FromClaim", {}, Config("Nonsense"))}, "BadDeviceConfig"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto found = ConfigFor({.request = std::string(c.request), .driver = "", .pool = "", .device = "d"}, c.type,
                                 c.configs, "gpu.nvidia.com");
    std::string got;
    if (!found) {
      got = found.error().code();
    } else if (found->has_value()) {
      got = Unserved(**found) ? "mps" : KindOf(**found) == "GpuConfig" ? "plain" : "mig";
    }
    EXPECT_EQ(got, c.expected);
  }
}

TEST(ConfigFor, FaultsOfAllConfigsThatMightApplyAreListed) {
  const std::vector<AllocationConfig> configs{From("FromClass", {}, Config("GpuConfig", ", shareing: {}")),
                                              From("FromClaim", {}, Config("Nonsense")),
                                              From("FromClaim", {"a"}, Config("MigDeviceConfig"))};
  const auto found = ConfigFor({.request = "a", .driver = "", .pool = "", .device = "gpu-0"}, DeviceType::kGpu, configs,
                               "gpu.nvidia.com");
  ASSERT_FALSE(found.has_value());
  for (const std::string_view fault :
       {"config[0].opaque.parameters.shareing: unknown field", "config[1].opaque.parameters.kind: \"Nonsense\"",
        "config[2].opaque.parameters.kind: a MigDeviceConfig cannot be applied to device gpu-0 of request a"}) {
    EXPECT_THAT(found.error().Text(), HasSubstr(fault));
  }
}

}  // namespace
}  // namespace tessera::api
