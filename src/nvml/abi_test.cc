// Every member of the structs in nvml/abi.h at its offset, as a compiler laid out NVML's public header (13.3). A swapped
// pair of members does not compile.
#include "nvml/abi.h"

#include <gtest/gtest.h>

namespace tessera::nvml::abi {
namespace {

#define AT(type, member, offset) static_assert(offsetof(type, member) == (offset))

AT(PciInfo, busIdLegacy, 0);
AT(PciInfo, domain, 16);
AT(PciInfo, bus, 20);
AT(PciInfo, device, 24);
AT(PciInfo, pciDeviceId, 28);
AT(PciInfo, pciSubSystemId, 32);
AT(PciInfo, busId, 36);

AT(PciInfoExt, domain, 4);
AT(PciInfoExt, bus, 8);
AT(PciInfoExt, device, 12);
AT(PciInfoExt, pciDeviceId, 16);
AT(PciInfoExt, pciSubSystemId, 20);
AT(PciInfoExt, baseClass, 24);
AT(PciInfoExt, subClass, 28);
AT(PciInfoExt, busId, 32);

AT(Memory, total, 0);
AT(Memory, free, 8);
AT(Memory, used, 16);
AT(MemoryV2, total, 8);
AT(MemoryV2, reserved, 16);
AT(MemoryV2, free, 24);
AT(MemoryV2, used, 32);
AT(Bar1Memory, bar1Total, 0);
AT(Bar1Memory, bar1Free, 8);
AT(Bar1Memory, bar1Used, 16);
AT(Utilization, gpu, 0);
AT(Utilization, memory, 4);

AT(ProcessInfo, pid, 0);
AT(ProcessInfo, usedGpuMemory, 8);
AT(ProcessInfo, gpuInstanceId, 16);
AT(ProcessInfo, computeInstanceId, 20);
AT(ProcessDetail, usedGpuCcProtectedMemory, 24);
AT(ProcessDetailList, mode, 4);
AT(ProcessDetailList, numProcArrayEntries, 8);
AT(ProcessDetailList, procArray, 16);

AT(DeviceAttributes, multiprocessorCount, 0);
AT(DeviceAttributes, sharedCopyEngineCount, 4);
AT(DeviceAttributes, sharedDecoderCount, 8);
AT(DeviceAttributes, sharedEncoderCount, 12);
AT(DeviceAttributes, sharedJpegCount, 16);
AT(DeviceAttributes, sharedOfaCount, 20);
AT(DeviceAttributes, gpuInstanceSliceCount, 24);
AT(DeviceAttributes, computeInstanceSliceCount, 28);
AT(DeviceAttributes, memorySizeMB, 32);

AT(Uuid, type, 4);
AT(Uuid, value, 8);
AT(Pdi, value, 8);
AT(AddressingMode, value, 4);
AT(DeviceCapabilities, capMask, 4);
AT(Temperature, sensorType, 4);
AT(Temperature, temperature, 8);
AT(MarginTemperature, marginTemperature, 4);
AT(RepairStatus, bChannelRepairPending, 4);
AT(RepairStatus, bTpcRepairPending, 8);
AT(RemappedRowsInfo, corrActive, 0);
AT(RemappedRowsInfo, corrInactive, 4);
AT(RemappedRowsInfo, uncActive, 8);
AT(RemappedRowsInfo, uncInactive, 12);
AT(RemappedRowsInfo, bPending, 16);
AT(RemappedRowsInfo, bFailureOccurred, 20);
AT(RowRemapperHistogram, max, 0);
AT(RowRemapperHistogram, high, 4);
AT(RowRemapperHistogram, partial, 8);
AT(RowRemapperHistogram, low, 12);
AT(RowRemapperHistogram, none, 16);
AT(DriverBranchInfo, branch, 4);

AT(EccSramErrorStatus, aggregateUncParity, 8);
AT(EccSramErrorStatus, aggregateUncSecDed, 16);
AT(EccSramErrorStatus, aggregateCor, 24);
AT(EccSramErrorStatus, volatileUncParity, 32);
AT(EccSramErrorStatus, volatileUncSecDed, 40);
AT(EccSramErrorStatus, volatileCor, 48);
AT(EccSramErrorStatus, aggregateUncBucketL2, 56);
AT(EccSramErrorStatus, aggregateUncBucketSm, 64);
AT(EccSramErrorStatus, aggregateUncBucketPcie, 72);
AT(EccSramErrorStatus, aggregateUncBucketMcu, 80);
AT(EccSramErrorStatus, aggregateUncBucketOther, 88);
AT(EccSramErrorStatus, bThresholdExceeded, 96);

AT(PlatformInfo, ibGuid, 4);
AT(PlatformInfo, chassisSerialNumber, 20);
AT(PlatformInfo, slotNumber, 36);
AT(PlatformInfo, trayIndex, 37);
AT(PlatformInfo, hostId, 38);
AT(PlatformInfo, peerType, 39);
AT(PlatformInfo, moduleId, 40);
AT(ConfComputeCaps, gpusCaps, 4);
AT(ConfComputeState, ccFeature, 4);
AT(ConfComputeState, devToolsMode, 8);
AT(ConfComputeSettings, environment, 4);
AT(ConfComputeSettings, ccFeature, 8);
AT(ConfComputeSettings, devToolsMode, 12);
AT(ConfComputeSettings, multiGpuMode, 16);

AT(FieldValue, fieldId, 0);
AT(FieldValue, scopeId, 4);
AT(FieldValue, timestamp, 8);
AT(FieldValue, latencyUsec, 16);
AT(FieldValue, valueType, 24);
AT(FieldValue, nvmlReturn, 28);
AT(FieldValue, value, 32);

AT(EventData, device, 0);
AT(EventData, eventType, 8);
AT(EventData, eventData, 16);
AT(EventData, gpuInstanceId, 24);
AT(EventData, computeInstanceId, 28);
AT(SystemEventSetRequest, set, 8);
AT(SystemRegisterEventRequest, eventTypes, 8);
AT(SystemRegisterEventRequest, set, 16);
AT(SystemEventData, eventType, 0);
AT(SystemEventData, gpuId, 8);
AT(SystemEventSetWaitRequest, timeoutms, 4);
AT(SystemEventSetWaitRequest, set, 8);
AT(SystemEventSetWaitRequest, data, 16);
AT(SystemEventSetWaitRequest, dataSize, 24);
AT(SystemEventSetWaitRequest, numEvent, 28);

AT(FabricInfo, clusterUuid, 0);
AT(FabricInfo, status, 16);
AT(FabricInfo, cliqueId, 20);
AT(FabricInfo, state, 24);
AT(FabricInfoV3, clusterUuid, 4);
AT(FabricInfoV3, status, 20);
AT(FabricInfoV3, cliqueId, 24);
AT(FabricInfoV3, state, 28);
AT(FabricInfoV3, healthMask, 32);
AT(FabricInfoV3, healthSummary, 36);
AT(FabricInfoV2, status, 20);
AT(FabricInfoV2, cliqueId, 24);
AT(FabricInfoV2, state, 28);
AT(FabricInfoV2, healthMask, 32);

AT(Placement, start, 0);
AT(Placement, size, 4);
AT(GpuInstanceProfileInfo, id, 0);
AT(GpuInstanceProfileInfo, isP2pSupported, 4);
AT(GpuInstanceProfileInfo, sliceCount, 8);
AT(GpuInstanceProfileInfo, instanceCount, 12);
AT(GpuInstanceProfileInfo, multiprocessorCount, 16);
AT(GpuInstanceProfileInfo, copyEngineCount, 20);
AT(GpuInstanceProfileInfo, decoderCount, 24);
AT(GpuInstanceProfileInfo, encoderCount, 28);
AT(GpuInstanceProfileInfo, jpegCount, 32);
AT(GpuInstanceProfileInfo, ofaCount, 36);
AT(GpuInstanceProfileInfo, memorySizeMB, 40);
AT(GpuInstanceProfileInfoV2, id, 4);
AT(GpuInstanceProfileInfoV2, isP2pSupported, 8);
AT(GpuInstanceProfileInfoV2, sliceCount, 12);
AT(GpuInstanceProfileInfoV2, instanceCount, 16);
AT(GpuInstanceProfileInfoV2, multiprocessorCount, 20);
AT(GpuInstanceProfileInfoV2, copyEngineCount, 24);
AT(GpuInstanceProfileInfoV2, decoderCount, 28);
AT(GpuInstanceProfileInfoV2, encoderCount, 32);
AT(GpuInstanceProfileInfoV2, jpegCount, 36);
AT(GpuInstanceProfileInfoV2, ofaCount, 40);
AT(GpuInstanceProfileInfoV2, memorySizeMB, 48);
AT(GpuInstanceProfileInfoV2, name, 56);
AT(GpuInstanceProfileInfoV3, id, 4);
AT(GpuInstanceProfileInfoV3, sliceCount, 8);
AT(GpuInstanceProfileInfoV3, instanceCount, 12);
AT(GpuInstanceProfileInfoV3, multiprocessorCount, 16);
AT(GpuInstanceProfileInfoV3, copyEngineCount, 20);
AT(GpuInstanceProfileInfoV3, decoderCount, 24);
AT(GpuInstanceProfileInfoV3, encoderCount, 28);
AT(GpuInstanceProfileInfoV3, jpegCount, 32);
AT(GpuInstanceProfileInfoV3, ofaCount, 36);
AT(GpuInstanceProfileInfoV3, memorySizeMB, 40);
AT(GpuInstanceProfileInfoV3, name, 48);
AT(GpuInstanceProfileInfoV3, capabilities, 144);
AT(GpuInstanceInfo, device, 0);
AT(GpuInstanceInfo, id, 8);
AT(GpuInstanceInfo, profileId, 12);
AT(GpuInstanceInfo, placement, 16);

AT(ComputeInstanceProfileInfo, id, 0);
AT(ComputeInstanceProfileInfo, sliceCount, 4);
AT(ComputeInstanceProfileInfo, instanceCount, 8);
AT(ComputeInstanceProfileInfo, multiprocessorCount, 12);
AT(ComputeInstanceProfileInfo, sharedCopyEngineCount, 16);
AT(ComputeInstanceProfileInfo, sharedDecoderCount, 20);
AT(ComputeInstanceProfileInfo, sharedEncoderCount, 24);
AT(ComputeInstanceProfileInfo, sharedJpegCount, 28);
AT(ComputeInstanceProfileInfo, sharedOfaCount, 32);
AT(ComputeInstanceProfileInfoV2, id, 4);
AT(ComputeInstanceProfileInfoV2, sharedOfaCount, 36);
AT(ComputeInstanceProfileInfoV2, name, 40);
AT(ComputeInstanceProfileInfoV3, id, 4);
AT(ComputeInstanceProfileInfoV3, name, 40);
AT(ComputeInstanceProfileInfoV3, capabilities, 136);
AT(ComputeInstanceInfo, device, 0);
AT(ComputeInstanceInfo, gpuInstance, 8);
AT(ComputeInstanceInfo, id, 16);
AT(ComputeInstanceInfo, profileId, 20);
AT(ComputeInstanceInfo, placement, 24);

AT(NvLinkInfoV1, isNvleEnabled, 4);
AT(NvLinkFirmware, major, 4);
AT(NvLinkFirmware, minor, 8);
AT(NvLinkFirmware, subMinor, 12);
AT(NvLinkInfoV2, firmware, 8);
AT(NvLinkInfoV2, numValidEntries, 1608);
AT(ExcludedDeviceInfo, uuid, 68);

#undef AT

TEST(Abi, VersionsAreSizeAndNumber) {
  EXPECT_EQ(VersionOf<FabricInfoV3>(3), 0x03000028U);
  EXPECT_EQ(VersionOf<GpuInstanceProfileInfoV2>(2), 0x02000098U);
}

}  // namespace
}  // namespace tessera::nvml::abi
