// nvml/abi.h: NVML's C interface as the driver exports it, in our own words.
//
// Only what Tessera calls or its simulator serves. Layouts and numbers follow the public header (11.4 to 13.3; no
// struct here ever changed size under one name) and are pinned below, because a wrong offset is a wrong GPU in a pod.
// Names are NVIDIA's, so that its documentation can be searched for them. Which functions exist is decided by looking
// for the symbol, never by a version number: maintenance releases receive back-ports.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::nvml::abi {

using Return = int;  // nvmlReturn_t
enum : Return {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kResetTypeNotSupported = 30,
  kUnknown = 999,
};

// Opaque handles.
using Device = struct nvmlDevice_st*;
using GpuInstance = struct nvmlGpuInstance_st*;
using ComputeInstance = struct nvmlComputeInstance_st*;
using EventSet = struct nvmlEventSet_st*;
using SystemEventSet = struct nvmlSystemEventSet_st*;

// nvmlInitWithFlags
inline constexpr unsigned kInitNoGpus = 1;    // Do not fail when there is no GPU.
inline constexpr unsigned kInitNoAttach = 2;  // Do not attach GPUs.

// Buffer sizes.
inline constexpr unsigned kNameSize = 96;
inline constexpr unsigned kUuidSize = 96;
inline constexpr unsigned kSerialSize = 30;
inline constexpr unsigned kPartNumberSize = 80;
inline constexpr unsigned kVbiosSize = 32;
inline constexpr unsigned kDriverVersionSize = 80;
inline constexpr unsigned kNvmlVersionSize = 80;
inline constexpr unsigned kGspVersionSize = 64;

inline constexpr unsigned kNoInstance = 0xFFFFFFFFU;  // GI and CI ids where there is none.

// The `version` member of a versioned struct.
template <class T>
constexpr unsigned VersionOf(unsigned n) {
  return static_cast<unsigned>(sizeof(T)) | (n << 24U);
}

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device;
  unsigned pciDeviceId;     // device << 16 | vendor
  unsigned pciSubSystemId;  // subdevice << 16 | subvendor
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 && offsetof(PciInfo, pciDeviceId) == 28 &&
              offsetof(PciInfo, busId) == 36);

struct PciInfoExt {  // v1
  unsigned version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
  char busId[32];
};
static_assert(sizeof(PciInfoExt) == 64 && VersionOf<PciInfoExt>(1) == 0x01000040);

struct Memory {
  unsigned long long total, free, used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40 && VersionOf<MemoryV2>(2) == 0x02000028 && offsetof(MemoryV2, total) == 8);

struct Bar1Memory {
  unsigned long long bar1Total, bar1Free, bar1Used;
};
static_assert(sizeof(Bar1Memory) == 24);

struct Utilization {
  unsigned gpu, memory;
};
static_assert(sizeof(Utilization) == 8);

struct ProcessInfoV1 {  // For the unsuffixed symbols only.
  unsigned pid;
  unsigned long long usedGpuMemory;
};
static_assert(sizeof(ProcessInfoV1) == 16);

struct ProcessInfo {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpuInstanceId) == 16);

struct ProcessDetail {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
  unsigned long long usedGpuCcProtectedMemory;
};
static_assert(sizeof(ProcessDetail) == 32);

struct ProcessDetailList {
  unsigned version, mode, numProcArrayEntries;
  ProcessDetail* procArray;
};
static_assert(sizeof(ProcessDetailList) == 24 && VersionOf<ProcessDetailList>(1) == 0x01000018);

struct DeviceAttributesV1 {  // For the unsuffixed symbol only.
  unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
      sharedOfaCount;
};
static_assert(sizeof(DeviceAttributesV1) == 24);

struct DeviceAttributes {
  unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
      sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
  unsigned long long memorySizeMB;
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memorySizeMB) == 32);

struct Uuid {  // v1
  unsigned version;
  unsigned type;  // 1 ASCII, 2 binary
  union {
    char str[41];
    unsigned char bytes[16];
  } value;
};
static_assert(sizeof(Uuid) == 52 && VersionOf<Uuid>(1) == 0x01000034 && offsetof(Uuid, value) == 8);

struct Pdi {
  unsigned version;
  unsigned long long value;
};
static_assert(sizeof(Pdi) == 16);

struct AddressingMode {
  unsigned version, value;  // 0 none, 1 HMM, 2 ATS
};
static_assert(sizeof(AddressingMode) == 8 && VersionOf<AddressingMode>(1) == 0x01000008);

struct C2cModeInfo {  // Has no version in spite of its function's name.
  unsigned isC2cEnabled;
};
static_assert(sizeof(C2cModeInfo) == 4);

struct DeviceCapabilities {
  unsigned version, capMask;
};
static_assert(sizeof(DeviceCapabilities) == 8);

struct Temperature {
  unsigned version, sensorType;
  int temperature;
};
static_assert(sizeof(Temperature) == 12 && VersionOf<Temperature>(1) == 0x0100000C);

struct MarginTemperature {
  unsigned version;
  int marginTemperature;
};
static_assert(sizeof(MarginTemperature) == 8);

struct RepairStatus {
  unsigned version, bChannelRepairPending, bTpcRepairPending;
};
static_assert(sizeof(RepairStatus) == 12);

struct RemappedRowsInfo {  // v2, without a version member
  unsigned corrActive, corrInactive, uncActive, uncInactive, bPending, bFailureOccurred;
};
static_assert(sizeof(RemappedRowsInfo) == 24);

struct RowRemapperHistogram {
  unsigned max, high, partial, low, none;
};
static_assert(sizeof(RowRemapperHistogram) == 20);

struct DriverBranchInfo {
  unsigned version;
  char branch[80];
};
static_assert(sizeof(DriverBranchInfo) == 84 && VersionOf<DriverBranchInfo>(1) == 0x01000054);

struct EccSramErrorStatus {
  unsigned version;
  unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor, volatileUncParity, volatileUncSecDed,
      volatileCor, aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie, aggregateUncBucketMcu,
      aggregateUncBucketOther;
  unsigned bThresholdExceeded;
};
static_assert(sizeof(EccSramErrorStatus) == 104 && offsetof(EccSramErrorStatus, bThresholdExceeded) == 96);

struct PlatformInfo {  // v2
  unsigned version;
  unsigned char ibGuid[16], chassisSerialNumber[16];
  unsigned char slotNumber, trayIndex, hostId, peerType, moduleId;
};
static_assert(sizeof(PlatformInfo) == 44 && VersionOf<PlatformInfo>(2) == 0x0200002C &&
              offsetof(PlatformInfo, slotNumber) == 36 && offsetof(PlatformInfo, moduleId) == 40);

struct ConfComputeCaps {
  unsigned cpuCaps, gpusCaps;
};
struct ConfComputeState {
  unsigned environment, ccFeature, devToolsMode;
};
struct ConfComputeSettings {
  unsigned version, environment, ccFeature, devToolsMode, multiGpuMode;
};
static_assert(sizeof(ConfComputeCaps) == 8 && sizeof(ConfComputeState) == 12 && sizeof(ConfComputeSettings) == 20);

union FieldPayload {
  double dVal;
  int siVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  long long sllVal;
  unsigned short usVal;
};
enum : unsigned {  // valueType
  kFieldDouble = 0,
  kFieldUnsigned = 1,
  kFieldUnsignedLong = 2,
  kFieldUnsignedLongLong = 3,
  kFieldSignedLongLong = 4,
  kFieldSigned = 5,
  kFieldUnsignedShort = 6,
};
struct FieldValue {
  unsigned fieldId, scopeId;
  long long timestamp;  // Microseconds since 1970.
  long long latencyUsec;
  unsigned valueType;
  Return nvmlReturn;
  FieldPayload value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, valueType) == 24 && offsetof(FieldValue, value) == 32);

// Field numbers that never moved between headers.
inline constexpr unsigned kFieldNvlinkLinkCount = 91;
inline constexpr unsigned kFieldNvswitchLinkCount = 147;
inline constexpr unsigned kFieldResetlessMig = 184;
inline constexpr unsigned kFieldRecoveryAction = 230;

struct EventData {
  Device device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpuInstanceId) == 24);

// What tells errors apart: nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlPageRetirementCause_t,
// nvmlNvLinkErrorCounter_t.
inline constexpr unsigned kErrorCorrected = 0;
inline constexpr unsigned kErrorUncorrected = 1;
inline constexpr unsigned kCounterVolatile = 0;   // Since the driver was loaded.
inline constexpr unsigned kCounterAggregate = 1;  // Since the board was made.
inline constexpr unsigned kRetiredForSingleBit = 0;
inline constexpr unsigned kRetiredForDoubleBit = 1;
inline constexpr unsigned kLinkReplayErrors = 0;
inline constexpr unsigned kLinkRecoveryErrors = 1;
inline constexpr unsigned kLinkCrcFlitErrors = 2;

inline constexpr unsigned kSensorGpu = 0;  // nvmlTemperatureSensors_t

// nvmlClocksEventReasons: why clocks are lower than asked for.
inline constexpr unsigned long long kClocksIdle = 0x1;
inline constexpr unsigned long long kClocksSoftwarePowerCap = 0x4;
inline constexpr unsigned long long kClocksHardwareSlowdown = 0x8;
inline constexpr unsigned long long kClocksSoftwareThermal = 0x20;
inline constexpr unsigned long long kClocksHardwareThermal = 0x40;
inline constexpr unsigned long long kClocksHardwarePowerBrake = 0x80;

struct SystemEventSetRequest {  // Create and Free
  unsigned version;
  SystemEventSet set;
};
struct SystemRegisterEventRequest {
  unsigned version;
  unsigned long long eventTypes;
  SystemEventSet set;
};
struct SystemEventData {
  unsigned long long eventType;
  unsigned gpuId;
};
struct SystemEventSetWaitRequest {
  unsigned version, timeoutms;
  SystemEventSet set;
  SystemEventData* data;
  unsigned dataSize, numEvent;
};
static_assert(sizeof(SystemEventSetRequest) == 16 && sizeof(SystemRegisterEventRequest) == 24 &&
              sizeof(SystemEventData) == 16 && sizeof(SystemEventSetWaitRequest) == 32);

// Event type bits.
inline constexpr unsigned long long kEventSingleBitEcc = 0x1;
inline constexpr unsigned long long kEventDoubleBitEcc = 0x2;
inline constexpr unsigned long long kEventPState = 0x4;
inline constexpr unsigned long long kEventXidCritical = 0x8;
inline constexpr unsigned long long kEventClock = 0x10;
inline constexpr unsigned long long kEventPowerSource = 0x80;
inline constexpr unsigned long long kEventMigConfigChange = 0x100;
inline constexpr unsigned long long kEventGpuUnavailable = 0x4000;
inline constexpr unsigned long long kEventRecoveryAction = 0x8000;
inline constexpr unsigned long long kEventAll = 0xFF9F;

struct FabricInfo {  // v1
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;  // 0 not supported, 1 not started, 2 in progress, 3 completed
};
struct FabricInfoV2 {
  unsigned version;
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};
struct FabricInfoV3 {
  unsigned version;
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
  unsigned char healthSummary;
};
static_assert(sizeof(FabricInfo) == 28 && offsetof(FabricInfo, state) == 24);
static_assert(sizeof(FabricInfoV2) == 36 && VersionOf<FabricInfoV2>(2) == 0x02000024 &&
              offsetof(FabricInfoV2, healthMask) == 32);
static_assert(sizeof(FabricInfoV3) == 40 && VersionOf<FabricInfoV3>(3) == 0x03000028 &&
              offsetof(FabricInfoV3, healthSummary) == 36);

struct Placement {  // Of a GPU instance (memory slices) or a compute instance (compute slices).
  unsigned start, size;
};
static_assert(sizeof(Placement) == 8);

struct GpuInstanceProfileInfo {
  unsigned id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
};
struct GpuInstanceProfileInfoV2 {
  unsigned version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[96];
};
struct GpuInstanceProfileInfoV3 {  // The size of v2 with another layout.
  unsigned version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
      jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48 && offsetof(GpuInstanceProfileInfo, memorySizeMB) == 40);
static_assert(sizeof(GpuInstanceProfileInfoV2) == 152 && VersionOf<GpuInstanceProfileInfoV2>(2) == 0x02000098 &&
              offsetof(GpuInstanceProfileInfoV2, memorySizeMB) == 48 && offsetof(GpuInstanceProfileInfoV2, name) == 56);
static_assert(sizeof(GpuInstanceProfileInfoV3) == 152 && VersionOf<GpuInstanceProfileInfoV3>(3) == 0x03000098 &&
              offsetof(GpuInstanceProfileInfoV3, name) == 48 &&
              offsetof(GpuInstanceProfileInfoV3, capabilities) == 144);

struct GpuInstanceInfo {
  Device device;  // The parent.
  unsigned id, profileId;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24 && offsetof(GpuInstanceInfo, placement) == 16);

struct ComputeInstanceProfileInfo {
  unsigned id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
};
struct ComputeInstanceProfileInfoV2 {
  unsigned version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
  char name[96];
};
struct ComputeInstanceProfileInfoV3 {
  unsigned version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);
static_assert(sizeof(ComputeInstanceProfileInfoV2) == 136 && offsetof(ComputeInstanceProfileInfoV2, name) == 40);
static_assert(sizeof(ComputeInstanceProfileInfoV3) == 140 &&
              offsetof(ComputeInstanceProfileInfoV3, capabilities) == 136);

struct ComputeInstanceInfoV1 {  // For the unsuffixed symbol only.
  Device device;
  GpuInstance gpuInstance;
  unsigned id, profileId;
};
struct ComputeInstanceInfo {
  Device device;  // The MIG device.
  GpuInstance gpuInstance;
  unsigned id, profileId;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceInfoV1) == 24);
static_assert(sizeof(ComputeInstanceInfo) == 32 && offsetof(ComputeInstanceInfo, placement) == 24);

struct NvLinkInfoV1 {
  unsigned version, isNvleEnabled;
};
struct NvLinkFirmware {
  unsigned char ucodeType;
  unsigned major, minor, subMinor;
};
struct NvLinkInfoV2 {
  unsigned version, isNvleEnabled;
  NvLinkFirmware firmware[100];
  unsigned numValidEntries;
};
static_assert(sizeof(NvLinkInfoV1) == 8 && sizeof(NvLinkFirmware) == 16 && sizeof(NvLinkInfoV2) == 1612);

struct ExcludedDeviceInfo {
  PciInfo pciInfo;
  char uuid[80];
};
static_assert(sizeof(ExcludedDeviceInfo) == 148);

struct Hostname {
  char value[64];
};
static_assert(sizeof(Hostname) == 64);

// Architectures.
enum : unsigned {
  kArchKepler = 2,
  kArchMaxwell = 3,
  kArchPascal = 4,
  kArchVolta = 5,
  kArchTuring = 6,
  kArchAmpere = 7,
  kArchAda = 8,
  kArchHopper = 9,
  kArchBlackwell = 10,
  kArchRubin = 13,
};

// NVLink remote device types.
inline constexpr unsigned kRemoteGpu = 0;
inline constexpr unsigned kRemoteSwitch = 2;

}  // namespace tessera::nvml::abi
