#include "api/device_config.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::api {
namespace {

constexpr std::string_view kApiVersion = "resource.nvidia.com/v1beta1";
constexpr std::array<std::string_view, 3> kKinds{"GpuConfig", "MigDeviceConfig", "VfioDeviceConfig"};
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};

bool OneOf(std::string_view text, std::span<const std::string_view> values) {
  return std::ranges::find(values, text) != values.end();
}

struct Header {
  std::string api_version, kind;
};
template <class F>
void Describe(F& f, Header& h) {
  f.Required("apiVersion", h.api_version);
  f.Required("kind", h.kind);
}

struct Iommu {
  std::optional<std::string> backend_policy;
  std::optional<bool> enable_api_device;
};
template <class F>
void Describe(F& f, Iommu& i) {
  f.Optional("backendPolicy", i.backend_policy);
  f.Optional("enableAPIDevice", i.enable_api_device);
  f.Check(!i.backend_policy || *i.backend_policy == "LegacyOnly" || *i.backend_policy == "PreferIommuFD",
          "backendPolicy", Format("{} must be LegacyOnly or PreferIommuFD", Quote(i.backend_policy.value_or(""))));
}

// A config with the two fields that every object has.
template <class T>
struct Document {
  Header header;
  T config;
};

}  // namespace

template <class F>
void Describe(F& f, TimeSlicingConfig& c) {
  f.Optional("interval", c.interval);
  f.Check(!c.interval || OneOf(*c.interval, kIntervals), "interval",
          Format("{} must be Default, Short, Medium or Long", Quote(c.interval.value_or(""))));
}

template <class F>
void Describe(F& f, MpsConfig& c) {
  f.Optional("defaultActiveThreadPercentage", c.default_active_thread_percentage);
  f.Optional("defaultPinnedDeviceMemoryLimit", c.default_pinned_device_memory_limit);
  f.Optional("defaultPerDevicePinnedMemoryLimit", c.default_per_device_pinned_memory_limit);
  f.Optional("multiUser", c.multi_user);
  const int percentage = c.default_active_thread_percentage.value_or(0);
  f.Check(percentage >= 0 && percentage <= 100, "defaultActiveThreadPercentage",
          Format("{} must be from 0 to 100", percentage));
}

template <class F>
void Describe(F& f, Sharing& s) {
  f.Required("strategy", s.strategy);
  f.Optional("timeSlicingConfig", s.time_slicing);
  f.Optional("mpsConfig", s.mps);
  f.Check(!s.mps || s.strategy == SharingStrategy::kMps, "mpsConfig", "belongs to strategy MPS");
  f.Check(!s.time_slicing || s.strategy == SharingStrategy::kTimeSlicing, "timeSlicingConfig",
          "belongs to strategy TimeSlicing");
}

template <class F>
void Describe(F& f, Document<GpuConfig>& d) {
  Describe(f, d.header);
  f.Optional("sharing", d.config.sharing);
}

template <class F>
void Describe(F& f, Document<MigDeviceConfig>& d) {
  Describe(f, d.header);
  f.Optional("sharing", d.config.sharing);
}

template <class F>
void Describe(F& f, Document<VfioDeviceConfig>& d) {
  Describe(f, d.header);
  std::optional<Iommu> iommu;
  f.Optional("iommu", iommu);
  if (iommu) d.config = {.backend_policy = iommu->backend_policy, .enable_api_device = iommu->enable_api_device};
}

namespace {

template <class T>
Result<DeviceConfig> DecodeAs(const json::Value& parameters, std::string_view path) {
  auto document = json::Decode<Document<T>>(parameters, json::Unknown::kReject, path);
  if (document) return std::move(document->config);
  return BadConfig("BadDeviceConfig", document.error().message(), "correct the config in the claim or its class");
}

std::optional<std::string> UnservedSharing(const std::optional<Sharing>& sharing) {
  if (!sharing) return std::nullopt;
  if (sharing->strategy == SharingStrategy::kMps) return "sharing.strategy: MPS";
  const std::string interval = sharing->time_slicing ? sharing->time_slicing->interval.value_or("Default") : "Default";
  if (interval == "Default") return std::nullopt;  // What a GPU does by itself.
  return "sharing.timeSlicingConfig.interval: " + interval;
}

bool Fits(const DeviceConfig& config, DeviceType type) {
  return type == DeviceType::kGpu ? std::holds_alternative<GpuConfig>(config)
                                  : std::holds_alternative<MigDeviceConfig>(config);
}

Error KindMismatch(std::string_view path, const DeviceConfig& config, const AllocationResult& result, DeviceType type) {
  return {ErrorKind::kPermanentConfig, "ConfigKindMismatch",
          Format("{}.kind: a {} cannot be applied to device {} of request {}, which is a {}", path, KindOf(config),
                 result.device, result.request, type == DeviceType::kGpu ? "full GPU" : "MIG device"),
          "name the request that the config is meant for"};
}

bool Names(const AllocationConfig& config, const AllocationResult& result) {
  return std::ranges::any_of(config.requests, [&](const std::string& request) {
    return request == result.request || request == MainRequest(result.request);
  });
}

}  // namespace

bool FromText(std::string_view text, SharingStrategy& strategy) {
  if (text != "TimeSlicing" && text != "MPS") return false;
  strategy = text == "MPS" ? SharingStrategy::kMps : SharingStrategy::kTimeSlicing;
  return true;
}

std::string ToText(SharingStrategy strategy) { return strategy == SharingStrategy::kMps ? "MPS" : "TimeSlicing"; }

std::string_view KindOf(const DeviceConfig& config) { return kKinds[config.index()]; }

Result<DeviceConfig> DecodeDeviceConfig(const json::Value& parameters, std::string_view path) {
  const auto header = json::Decode<Header>(parameters, json::Unknown::kIgnore, path);
  if (!header) return BadConfig("BadDeviceConfig", header.error().message());
  if (header->api_version != kApiVersion) {
    return BadConfig("BadDeviceConfig",
                     Format("{}.apiVersion: {} is not {}", path, Quote(header->api_version), kApiVersion));
  }
  if (header->kind == "GpuConfig") return DecodeAs<GpuConfig>(parameters, path);
  if (header->kind == "MigDeviceConfig") return DecodeAs<MigDeviceConfig>(parameters, path);
  if (header->kind == "VfioDeviceConfig") return DecodeAs<VfioDeviceConfig>(parameters, path);
  const auto near = NearMatch(header->kind, kKinds);
  return BadConfig("BadDeviceConfig", Format("{}.kind: {} is not known", path, Quote(header->kind)),
                   near ? Format("did you mean {}?", *near) : "use GpuConfig, MigDeviceConfig or VfioDeviceConfig");
}

std::optional<std::string> Unserved(const DeviceConfig& config) {
  if (const auto* gpu = std::get_if<GpuConfig>(&config)) return UnservedSharing(gpu->sharing);
  if (const auto* mig = std::get_if<MigDeviceConfig>(&config)) {
    // Time-slicing on a MIG device does nothing, whatever its interval; the Go driver accepts it.
    if (mig->sharing && mig->sharing->strategy == SharingStrategy::kTimeSlicing) return std::nullopt;
    return UnservedSharing(mig->sharing);
  }
  return "kind: VfioDeviceConfig";
}

Result<std::optional<DeviceConfig>> ConfigFor(const AllocationResult& result, DeviceType type,
                                              const std::vector<AllocationConfig>& configs, std::string_view driver) {
  std::optional<Error> first;
  std::vector<std::string> faults;
  const auto add = [&](Error error) {
    faults.push_back(error.message());
    if (!first) first = std::move(error);
  };
  for (std::size_t i = configs.size(); i-- > 0;) {
    const AllocationConfig& candidate = configs[i];
    const bool named = Names(candidate, result);
    if (candidate.driver != driver || (!candidate.requests.empty() && !named)) continue;
    const std::string path = Format("status.allocation.devices.config[{}].opaque.parameters", i);
    auto config = DecodeDeviceConfig(candidate.parameters, path);
    if (!config) {
      add(std::move(config).error());
    } else if (Fits(*config, type)) {
      if (faults.empty()) return *std::move(config);
      break;  // The ones before it would not apply.
    } else if (named) {
      add(KindMismatch(path, *config, result, type));
    }
  }
  if (!first) return std::nullopt;
  return std::unexpected(Error(first->kind(), first->code(), Join(faults, "; "), first->advice()));
}

}  // namespace tessera::api
