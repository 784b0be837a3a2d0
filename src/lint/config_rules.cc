// Opaque configs: ours as the plugin will read them, those of others as far as the API does.
#include <algorithm>

#include "api/device_config.h"
#include "base/text.h"
#include "lint/names.h"
#include "lint/rules.h"

namespace tessera::lint {
namespace {

constexpr std::size_t kMostBytes = std::size_t{10} * 1024;

// The class of each request that the config names.
void CheckKind(Context& context, const Node& parameters, const Node& requests, const api::DeviceConfig& config,
               const std::vector<AskedRequest>& asked) {
  const std::string_view kind = api::KindOf(config);
  for (const Node& node : requests.Items()) {
    const std::string name = node.TextOr("");
    for (const AskedRequest& one : asked) {
      if (one.name != name && !one.name.starts_with(name + "/")) continue;
      const std::string class_name = one.node.Field("deviceClassName").TextOr("");
      const bool mig = class_name == "mig.nvidia.com", gpu = class_name == "gpu.nvidia.com";
      if ((mig && kind != "MigDeviceConfig") || (gpu && kind != "GpuConfig")) {
        context.Error(parameters, "ConfigKindMismatch",
                      Format("a {} cannot be applied to request {}, which is of class {}", kind, name, class_name),
                      {.advice = Format("use a {}", mig ? "MigDeviceConfig" : "GpuConfig")});
        return;
      }
    }
  }
}

void CheckOurs(Context& context, const Node& parameters, const Node& requests, const std::vector<AskedRequest>& asked) {
  const auto config = api::DecodeDeviceConfig(*parameters.value(), parameters.path());
  if (!config) {
    context.Error(parameters, config.error().code(), config.error().message(), {.advice = config.error().advice()});
    return;
  }
  if (const auto unserved = api::Unserved(*config)) {
    context.Warn(parameters, "ConfigNotServed",
                 Format("asks for {}, which this version of the driver does not do", *unserved),
                 {.advice = "remove it: a claim with it is not prepared"});
  }
  CheckKind(context, parameters, requests, *config, asked);
}

void CheckConfig(Context& context, const Node& node, const std::vector<AskedRequest>& asked) {
  const bool of_claim = context.object.kind != "DeviceClass";  // A class has no requests, and CheckShape() says so.
  if (of_claim) CheckReferences(context, node.Field("requests"), asked);
  const Node opaque = node.Field("opaque");
  const Node driver = opaque.Field("driver"), parameters = opaque.Field("parameters");
  const std::string name = driver.TextOr("");
  if (driver.text() && !IsDriverName(name)) {
    context.Error(driver, "BadName", Format("{} is no name of a driver", Quote(Clip(name, 80))));
  }
  if (parameters.object() == nullptr || name.empty()) return;
  if (const std::size_t size = json::PrintJson(*parameters.value()).size(); size > kMostBytes) {
    context.Error(parameters, "TooLarge", Format("{} bytes as JSON, but at most {} are allowed", size, kMostBytes));
  }
  if (name == kOurDriver) return CheckOurs(context, parameters, node.Field("requests"), asked);
  context.Note(parameters, "ForeignConfig", Format("is for {} to understand; not checked", name));
}

}  // namespace

void CheckConfigs(Context& context, const Node& list, const std::vector<AskedRequest>& asked) {
  for (const Node& node : list.Items()) CheckConfig(context, node, asked);
}

}  // namespace tessera::lint
