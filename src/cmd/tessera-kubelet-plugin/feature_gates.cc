#include "cmd/tessera-kubelet-plugin/feature_gates.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tessera::cmd {
namespace {

// What switching a gate on means to us.
struct Gate {
  std::string_view name;
  bool served;  // Also when it concerns other programs, or is on by nature.
};
constexpr std::array kGates{
    Gate{"TimeSlicingSettings", false},
    Gate{"MPSSupport", false},
    Gate{"IMEXDaemonsWithDNSNames", true},  // ComputeDomains: another program's.
    Gate{"PassthroughSupport", false},
    Gate{"DynamicMIG", false},
    Gate{"NVMLDeviceHealthCheck", true},
    Gate{"ComputeDomainCliques", true},
    Gate{"CrashOnNVLinkFabricErrors", true},
    Gate{"DeviceMetadata", false},
    Gate{"DRAListTypeAttributes", false},
    Gate{"FabricManagerPartitioning", false},
    Gate{"HostManagedIMEXDaemon", true},
    Gate{"ConsumableShares", false},
    Gate{"ContextualLogging", true},
    Gate{"LoggingAlphaOptions", true},
    Gate{"LoggingBetaOptions", true},
    Gate{"AllAlpha", true},
    Gate{"AllBeta", true},
};

std::unexpected<Error> Unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Gate& gate : kGates) names.push_back(gate.name);
  const auto near = NearMatch(name, names);
  return BadConfig("BadFeatureGate", Format("--feature-gates: {} is not known", Quote(name)),
                   near ? Format("did you mean {}?", *near) : "see docs/configuration.md for the names");
}

}  // namespace

Result<FeatureGates> ParseFeatureGates(std::string_view text) {
  FeatureGates gates;
  for (const std::string_view part : Split(text, ',')) {
    if (Trim(part).empty()) continue;
    const auto pair = Cut(part, "=");
    const std::string_view name = Trim(pair ? pair->first : part);
    const auto gate = std::ranges::find(kGates, name, &Gate::name);
    if (gate == kGates.end()) return Unknown(name);
    const std::string value = pair ? Lower(Trim(pair->second)) : "";
    if (value != "true" && value != "false") {
      return BadConfig("BadFeatureGate", Format("--feature-gates: {} must be true or false", name),
                       Format("write {}=true", name));
    }
    if (value == "true" && !gate->served) gates.not_served.emplace_back(name);
  }
  return gates;
}

}  // namespace tessera::cmd
