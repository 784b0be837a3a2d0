#include "nvml/caller.h"

#include "nvml/vet.h"

namespace tessera::nvml {
namespace {

std::string UuidText(const unsigned char (&bytes)[16]) {
  std::string text;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += Format("{:02x}", bytes[i]);
  }
  return text;
}

template <class Info>
FabricFacts ToFabric(const Info& info) {
  FabricFacts facts{info.state, info.status, UuidText(info.clusterUuid), info.cliqueId, std::nullopt};
  if constexpr (requires { info.healthMask; }) facts.health_mask = info.healthMask;
  return facts;
}

}  // namespace

std::string AskDriverVersion(Caller& call) {
  char version[abi::kDriverVersionSize] = {};
  if (call.Call<Fn::nvmlSystemGetDriverVersion>(version, abi::kDriverVersionSize) != Outcome::kOk) return {};
  return std::string(TextIn(version));
}

Result<unsigned> AskGpuCount(Caller& call, const std::vector<Gap>& gaps) {
  unsigned count = 0;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetCount_v2>(&count);
  if (code == abi::kSuccess && count <= kMostGpus) return count;
  const std::string found = code == Caller::kAvoided ? gaps.back().reason
                            : code != abi::kSuccess  ? CodeText(code)
                                                     : Format("{} is no number of GPUs", count);
  return BadDevice("GpuCountUnknown", Format("nvmlDeviceGetCount_v2: {}", found),
                   "run nvidia-smi on the node; if it fails as well, reload the NVIDIA driver");
}

// v3, then v2, then the deprecated call without a version.
std::optional<FabricFacts> AskFabric(Caller& call, abi::Device device) {
  abi::FabricInfoV3 v3{};
  v3.version = abi::VersionOf<abi::FabricInfoV3>(3);
  abi::Return code = call.Raw<Fn::nvmlDeviceGetGpuFabricInfoV>(device, static_cast<void*>(&v3));
  if (code == abi::kSuccess) return ToFabric(v3);
  if (code == abi::kArgumentVersionMismatch || code == abi::kInvalidArgument) {
    abi::FabricInfoV2 v2{};
    v2.version = abi::VersionOf<abi::FabricInfoV2>(2);
    code = call.Raw<Fn::nvmlDeviceGetGpuFabricInfoV>(device, static_cast<void*>(&v2));
    if (code == abi::kSuccess) return ToFabric(v2);
  }
  if (code == abi::kFunctionNotFound || code == Caller::kAvoided) {
    const auto v1 = call.Ask<Fn::nvmlDeviceGetGpuFabricInfo, abi::FabricInfo>(device);
    return v1 ? std::optional(ToFabric(*v1)) : std::nullopt;
  }
  if (code != abi::kNotSupported) call.Note(Fn::nvmlDeviceGetGpuFabricInfoV, CodeText(code));
  return std::nullopt;
}

std::optional<unsigned> AskRecoveryAction(Caller& call, abi::Device device) {
  // Pre-set to "unknown": real libraries leave entries of a batch untouched and still answer success.
  abi::FieldValue recovery{};
  recovery.fieldId = abi::kFieldRecoveryAction;
  recovery.nvmlReturn = abi::kUnknown;
  if (call.Call<Fn::nvmlDeviceGetFieldValues>(device, 1, &recovery) != Outcome::kOk ||
      recovery.nvmlReturn != abi::kSuccess || recovery.valueType != abi::kFieldUnsigned) {
    return std::nullopt;
  }
  return recovery.value.uiVal;
}

}  // namespace tessera::nvml
