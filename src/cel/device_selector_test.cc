#include "cel/device_selector.h"

#include <gtest/gtest.h>

namespace tessera::cel {
namespace {

DeviceFacts Gpu() {
  DeviceFacts gpu{.driver = "gpu.nvidia.com"};
  AddAttribute(gpu, "type", std::string("gpu"));
  AddAttribute(gpu, "productName", std::string("NVIDIA H200"));
  AddAttribute(gpu, "architecture", std::string("Hopper"));
  AddAttribute(gpu, "brand", std::string("Nvidia"));
  AddAttribute(gpu, "minor", std::int64_t{3});
  AddAttribute(gpu, "migCapable", true);
  AddAttribute(gpu, "resource.kubernetes.io/pcieRoot", std::string("pci0000:40"));
  AddVersion(gpu, "driverVersion", "570.158.1");
  AddVersion(gpu, "cudaComputeCapability", "9.0.0");
  AddCapacity(gpu, "memory", Quantity::Parse("143771Mi").value());
  return gpu;
}

// "true", "false", or the error's message.
std::string Answer(std::string_view expression, const DeviceFacts& device, const Environment& environment = {}) {
  const auto selector = Compile(expression, environment);
  if (!selector) return selector.error().message();
  const auto match = selector->Matches(device);
  if (!match) return match.error().message();
  return *match ? "true" : "false";
}

TEST(DeviceSelector, AnswersLikeKubernetes) {
  struct Case {
    std::string_view expression, answer;
  };
  const Case cases[]{
      {"true", "true"},
      {"device.driver == 'gpu.nvidia.com'", "true"},
      {"device.attributes['gpu.nvidia.com'].type == 'gpu'", "true"},
      {"device.attributes['gpu.nvidia.com']['type'] == 'mig'", "false"},
      {"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H200' && "
       "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
       "true"},
      {"device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('1Ti'))", "false"},
      {"device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('550.0.0'))", "true"},
      {"device.attributes['gpu.nvidia.com'].driverVersion.major() == 570", "true"},
      {"device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('^.*h[0-9]{3}$')", "true"},
      {"device.attributes['resource.kubernetes.io'].pcieRoot.startsWith('pci')", "true"},
      {"device.attributes['gpu.nvidia.com'].minor in [1, 2, 3]", "true"},
      {"device.attributes['gpu.nvidia.com'].migCapable", "true"},
      {"device.allowMultipleAllocations", "false"},
      {"cel.bind(gpu, device.attributes['gpu.nvidia.com'], gpu.brand == 'Nvidia' && gpu.minor < 4)", "true"},
      // Missing keys.
      {"device.attributes['gpu.nvidia.com'].nosuch == 1", "no such key: nosuch"},
      {"device.attributes['no.such.domain'].x == 1", "no such key: x"},
      {"has(device.attributes['no.such.domain'].x)", "false"},
      {"has(device.attributes['gpu.nvidia.com'].minor)", "true"},
      {"'gpu.nvidia.com' in device.attributes", "true"},
      {"'no.such.domain' in device.attributes", "false"},
      {"device.attributes['no.such.domain'].size() == 0", "true"},
      {"device.attributes.size() == 2", "true"},
      {"'minor' in device.attributes['gpu.nvidia.com']", "true"},
      {"device.attributes['gpu.nvidia.com'].?nosuch.orValue('x') == 'x'", "true"},
      {"device.attributes['gpu.nvidia.com'].nosuch == 1 || true", "true"},
      {"device.attributes.exists(d, d == 'resource.kubernetes.io')", "true"},
      // A version compared with text.
      {"device.attributes['gpu.nvidia.com'].driverVersion == '570.158.1'", "no such overload"},
      {"'570.158.1' == device.attributes['gpu.nvidia.com'].driverVersion", "false"},
      {"device.attributes['gpu.nvidia.com'].driverVersion != '570.158.1'", "true"},
      {"device.attributes['gpu.nvidia.com'].type.isGreaterThan(quantity('1'))",
       "no such overload: isGreaterThan(string, kubernetes.Quantity)"},
  };
  const DeviceFacts gpu = Gpu();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(Answer(c.expression, gpu), c.answer);
  }
}

}  // namespace
}  // namespace tessera::cel
