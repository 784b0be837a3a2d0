// Field names, order and omitempty follow k8s.io/api v0.36 (resource/v1, core/v1), k8s.io/apimachinery (meta/v1), and
// the driver's prepared.go, checkpointv.go, mig.go and device_state.go. VFIO devices and their Metadata are left out:
// we have no claims with them.
#include "journal/go_checkpoint.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::journal {
namespace {

using Kind = GoType::Kind;

constexpr bool kPointer = true;
constexpr bool kOmitEmpty = true;

constexpr GoType kText{Kind::kText};
constexpr GoType kFlag{Kind::kFlag};
constexpr GoType kInteger{Kind::kInteger};
constexpr GoType kTime{Kind::kTime};
constexpr GoType kQuantity{Kind::kQuantity};
constexpr GoType kRaw{Kind::kRaw};
constexpr GoType kTexts{Kind::kList, &kText};
constexpr GoType kQuantities{Kind::kMap, &kQuantity};

// ---- ResourceClaimStatus.

constexpr GoField kTolerationFields[] = {
    {"key", &kText, false, kOmitEmpty},
    {"operator", &kText, false, kOmitEmpty},
    {"value", &kText, false, kOmitEmpty},
    {"effect", &kText, false, kOmitEmpty},
    {"tolerationSeconds", &kInteger, kPointer, kOmitEmpty},
};
constexpr GoType kToleration{Kind::kStruct, nullptr, kTolerationFields};
constexpr GoType kTolerations{Kind::kList, &kToleration};

constexpr GoField kResultFields[] = {
    {"request", &kText},
    {"driver", &kText},
    {"pool", &kText},
    {"device", &kText},
    {"adminAccess", &kFlag, kPointer, kOmitEmpty},
    {"tolerations", &kTolerations, false, kOmitEmpty},
    {"bindingConditions", &kTexts, false, kOmitEmpty},
    {"bindingFailureConditions", &kTexts, false, kOmitEmpty},
    {"shareID", &kText, kPointer, kOmitEmpty},
    {"consumedCapacity", &kQuantities, false, kOmitEmpty},
};
constexpr GoType kResult{Kind::kStruct, nullptr, kResultFields};
constexpr GoType kResults{Kind::kList, &kResult};

constexpr GoField kOpaqueFields[] = {{"driver", &kText}, {"parameters", &kRaw}};
constexpr GoType kOpaque{Kind::kStruct, nullptr, kOpaqueFields};
constexpr GoField kConfigFields[] = {
    {"source", &kText},
    {"requests", &kTexts, false, kOmitEmpty},
    {"opaque", &kOpaque, kPointer, kOmitEmpty},
};
constexpr GoType kConfig{Kind::kStruct, nullptr, kConfigFields};
constexpr GoType kConfigs{Kind::kList, &kConfig};

constexpr GoField kAllocatedDevicesFields[] = {
    {"results", &kResults, false, kOmitEmpty},
    {"config", &kConfigs, false, kOmitEmpty},
};
constexpr GoType kAllocatedDevices{Kind::kStruct, nullptr, kAllocatedDevicesFields};

constexpr GoField kRequirementFields[] = {
    {"key", &kText},
    {"operator", &kText},
    {"values", &kTexts, false, kOmitEmpty},
};
constexpr GoType kRequirement{Kind::kStruct, nullptr, kRequirementFields};
constexpr GoType kRequirements{Kind::kList, &kRequirement};
constexpr GoField kTermFields[] = {
    {"matchExpressions", &kRequirements, false, kOmitEmpty},
    {"matchFields", &kRequirements, false, kOmitEmpty},
};
constexpr GoType kTerm{Kind::kStruct, nullptr, kTermFields};
constexpr GoType kTerms{Kind::kList, &kTerm};
constexpr GoField kNodeSelectorFields[] = {{"nodeSelectorTerms", &kTerms}};
constexpr GoType kNodeSelector{Kind::kStruct, nullptr, kNodeSelectorFields};

constexpr GoField kAllocationFields[] = {
    {"devices", &kAllocatedDevices, false, kOmitEmpty},
    {"nodeSelector", &kNodeSelector, kPointer, kOmitEmpty},
    {"allocationTimestamp", &kTime, kPointer, kOmitEmpty},
};
constexpr GoType kAllocation{Kind::kStruct, nullptr, kAllocationFields};

constexpr GoField kConsumerFields[] = {
    {"apiGroup", &kText, false, kOmitEmpty},
    {"resource", &kText},
    {"name", &kText},
    {"uid", &kText},
};
constexpr GoType kConsumer{Kind::kStruct, nullptr, kConsumerFields};
constexpr GoType kConsumers{Kind::kList, &kConsumer};

constexpr GoField kConditionFields[] = {
    {"type", &kText},
    {"status", &kText},
    {"observedGeneration", &kInteger, false, kOmitEmpty},
    {"lastTransitionTime", &kTime},
    {"reason", &kText},
    {"message", &kText},
};
constexpr GoType kCondition{Kind::kStruct, nullptr, kConditionFields};
constexpr GoType kConditions{Kind::kList, &kCondition};
constexpr GoField kNetworkFields[] = {
    {"interfaceName", &kText, false, kOmitEmpty},
    {"ips", &kTexts, false, kOmitEmpty},
    {"hardwareAddress", &kText, false, kOmitEmpty},
};
constexpr GoType kNetwork{Kind::kStruct, nullptr, kNetworkFields};
constexpr GoField kDeviceStatusFields[] = {
    {"driver", &kText},
    {"pool", &kText},
    {"device", &kText},
    {"shareID", &kText, kPointer, kOmitEmpty},
    {"conditions", &kConditions},
    {"data", &kRaw, kPointer, kOmitEmpty},
    {"networkData", &kNetwork, kPointer, kOmitEmpty},
};
constexpr GoType kDeviceStatus{Kind::kStruct, nullptr, kDeviceStatusFields};
constexpr GoType kDeviceStatuses{Kind::kList, &kDeviceStatus};

constexpr GoField kStatusFields[] = {
    {"allocation", &kAllocation, kPointer, kOmitEmpty},
    {"reservedFor", &kConsumers, false, kOmitEmpty},
    {"devices", &kDeviceStatuses, false, kOmitEmpty},
};
constexpr GoType kStatus{Kind::kStruct, nullptr, kStatusFields};

// ---- The driver's own.

constexpr GoField kDeviceFields[] = {
    {"Requests", &kTexts},
    {"PoolName", &kText},
    {"DeviceName", &kText},
    {"CDIDeviceIDs", &kTexts},
    {"ShareID", &kText, kPointer, kOmitEmpty},
};
constexpr GoType kDevice{Kind::kStruct, nullptr, kDeviceFields};

constexpr GoField kGpuInfoFields[] = {{"uuid", &kText}};
constexpr GoType kGpuInfo{Kind::kStruct, nullptr, kGpuInfoFields};
constexpr GoField kGpuFields[] = {{"info", &kGpuInfo, kPointer}, {"device", &kDevice, kPointer}};
constexpr GoType kGpu{Kind::kStruct, nullptr, kGpuFields};

constexpr GoField kMigTupleFields[] = {
    {"parentMinor", &kInteger}, {"giId", &kInteger},    {"ciId", &kInteger},
    {"migUUID", &kText},        {"parentUUID", &kText}, {"parentPCIBusID", &kText, false, kOmitEmpty},
};

// What differs from release to release. `first(n)` leaves out what came later.
template <GoRelease kRelease>
struct Types {
  static constexpr std::span kTupleFields = std::span(kMigTupleFields).first(kRelease >= GoRelease::kV0_4 ? 6 : 5);
  static constexpr GoType kMigTuple{Kind::kStruct, nullptr, kTupleFields};
  static constexpr GoField kMigFields[] = {
      kRelease >= GoRelease::kV25_12 ? GoField{"concrete", &kMigTuple, kPointer} : GoField{"info", &kGpuInfo, kPointer},
      {"device", &kDevice, kPointer},
  };
  static constexpr GoType kMig{Kind::kStruct, nullptr, kMigFields};

  static constexpr GoField kPreparedDeviceFields[] = {{"gpu", &kGpu, kPointer}, {"mig", &kMig, kPointer}};
  static constexpr GoType kPreparedDevice{Kind::kStruct, nullptr, kPreparedDeviceFields};
  static constexpr GoType kPreparedDevices{Kind::kList, &kPreparedDevice};
  static constexpr GoField kConfigStateFields[] = {
      {"mpsControlDaemonID", &kText, false, kRelease == GoRelease::kHead},
      {"mpsApplied", &kFlag, kPointer, kOmitEmpty},
      {"timeSliceApplied", &kFlag, kPointer, kOmitEmpty},
  };
  static constexpr GoType kConfigState{Kind::kStruct, nullptr, kConfigStateFields};
  static constexpr GoField kGroupFields[] = {{"devices", &kPreparedDevices}, {"configState", &kConfigState}};
  static constexpr GoType kGroup{Kind::kStruct, nullptr, kGroupFields};
  static constexpr GoType kGroups{Kind::kList, &kGroup};

  static constexpr GoField kClaimV1Fields[] = {
      {"status", &kStatus, false, kOmitEmpty},
      {"preparedDevices", &kGroups, false, kOmitEmpty},
  };
  static constexpr GoType kClaimV1{Kind::kStruct, nullptr, kClaimV1Fields};
  static constexpr GoField kClaimV2Fields[] = {
      {"checkpointState", &kText},
      {"status", &kStatus, false, kOmitEmpty},
      {"preparedDevices", &kGroups, false, kOmitEmpty},
      {"name", &kText, false, kOmitEmpty},
      {"namespace", &kText, false, kOmitEmpty},
  };
  static constexpr std::span kFieldsV2 = std::span(kClaimV2Fields).first(kRelease >= GoRelease::kV25_12 ? 5 : 3);
  static constexpr GoType kClaimV2{Kind::kStruct, nullptr, kFieldsV2};

  static constexpr GoClaimTypes kTypes{&kClaimV1, &kClaimV2};
};

constexpr std::array<std::string_view, 5> kReleaseNames{"v25.3", "v25.8", "v25.12", "v0.4", "head"};

}  // namespace

bool FromText(std::string_view text, GoRelease& release) {
  const auto found = std::ranges::find(kReleaseNames, text);
  if (found == kReleaseNames.end()) return false;
  release = static_cast<GoRelease>(found - kReleaseNames.begin());
  return true;
}

std::string ToText(GoRelease release) { return std::string(kReleaseNames.at(std::to_underlying(release))); }

GoClaimTypes GoClaimTypesOf(GoRelease release) {
  switch (release) {
    case GoRelease::kV25_3:
      return Types<GoRelease::kV25_3>::kTypes;
    case GoRelease::kV25_8:
      return Types<GoRelease::kV25_8>::kTypes;
    case GoRelease::kV25_12:
      return Types<GoRelease::kV25_12>::kTypes;
    case GoRelease::kV0_4:
      return Types<GoRelease::kV0_4>::kTypes;
    case GoRelease::kHead:
      return Types<GoRelease::kHead>::kTypes;
  }
  std::unreachable();
}

}  // namespace tessera::journal
