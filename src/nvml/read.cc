#include "nvml/read.h"

#include "nvml/vet.h"

namespace tessera::nvml {
namespace {

void ReadPci(Caller& call, abi::Device device, GpuFacts& gpu) {
  const auto pci = call.Ask<Fn::nvmlDeviceGetPciInfo_v3, abi::PciInfo>(device);
  if (!pci) return;
  gpu.bus_id = TextIn(pci->busId);
  gpu.pci_device_id = pci->pciDeviceId;
}

void ReadIdentity(Caller& call, abi::Device device, GpuFacts& gpu) {
  gpu.uuid = AskText<Fn::nvmlDeviceGetUUID, abi::kUuidSize>(call, device);
  gpu.minor = call.Ask<Fn::nvmlDeviceGetMinorNumber>(device);
  gpu.name = AskText<Fn::nvmlDeviceGetName, abi::kNameSize>(call, device);
  gpu.serial = AskText<Fn::nvmlDeviceGetSerial, abi::kSerialSize>(call, device);
  gpu.brand = call.Ask<Fn::nvmlDeviceGetBrand>(device);
  gpu.architecture = call.Ask<Fn::nvmlDeviceGetArchitecture>(device);
  gpu.module_id = call.Ask<Fn::nvmlDeviceGetModuleId>(device);

  int major = 0;
  int minor = 0;
  if (call.Call<Fn::nvmlDeviceGetCudaComputeCapability>(device, &major, &minor) != Outcome::kOk) return;
  gpu.cc_major = static_cast<unsigned>(major);
  gpu.cc_minor = static_cast<unsigned>(minor);
}

void ReadModes(Caller& call, abi::Device device, GpuFacts& gpu) {
  if (const auto memory = call.Ask<Fn::nvmlDeviceGetMemoryInfo, abi::Memory>(device)) gpu.memory_bytes = memory->total;

  abi::AddressingMode mode{abi::VersionOf<abi::AddressingMode>(1), 0};
  if (call.Call<Fn::nvmlDeviceGetAddressingMode>(device, &mode) == Outcome::kOk) gpu.addressing_mode = mode.value;

  unsigned current = 0;
  unsigned pending = 0;
  if (call.Call<Fn::nvmlDeviceGetEccMode>(device, &current, &pending) == Outcome::kOk) gpu.ecc = AsFlag(current);
  gpu.persistence = AsFlag(call.Ask<Fn::nvmlDeviceGetPersistenceMode>(device));
  gpu.pcie_generation = call.Ask<Fn::nvmlDeviceGetMaxPcieLinkGeneration>(device);
  gpu.pcie_width = call.Ask<Fn::nvmlDeviceGetMaxPcieLinkWidth>(device);
  gpu.virtualization_mode = call.Ask<Fn::nvmlDeviceGetVirtualizationMode>(device);

  gpu.recovery_action = AskRecoveryAction(call, device);
}

void ReadLinks(Caller& call, abi::Device device, GpuFacts& gpu) {
  // Not up to the number in a header: newer drivers know more. Out of range ends the list.
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = 0;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetNvLinkState>(device, link, &state);
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound || code == Caller::kAvoided) return;
    if (code == abi::kNotSupported) continue;  // This GPU, or this one of its links, has none.
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetNvLinkState, CodeText(code));
      continue;
    }
    NvLinkFacts facts;
    facts.link = link;
    facts.active = state == 1;
    facts.version = call.Ask<Fn::nvmlDeviceGetNvLinkVersion>(device, link);
    facts.remote_type = call.Ask<Fn::nvmlDeviceGetNvLinkRemoteDeviceType>(device, link);
    if (facts.active) {
      const auto remote = call.Ask<Fn::nvmlDeviceGetNvLinkRemotePciInfo_v2, abi::PciInfo>(device, link);
      if (remote) facts.remote_bus_id = TextIn(remote->busId);
    }
    gpu.links.push_back(std::move(facts));
  }
}

void ReadMigProfiles(Caller& call, abi::Device device, GpuFacts& gpu) {
  for (unsigned number = 0; number < kMostProfiles; ++number) {
    abi::GpuInstanceProfileInfo info{};
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetGpuInstanceProfileInfo>(device, number, &info);
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound || code == Caller::kAvoided) return;
    if (code == abi::kNotSupported) continue;  // Known to the library, not on this GPU.
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetGpuInstanceProfileInfo, CodeText(code));
      continue;
    }
    gpu.mig_profiles.push_back({number, info.id, info.sliceCount, info.instanceCount, info.multiprocessorCount,
                                info.copyEngineCount, info.decoderCount, info.encoderCount, info.jpegCount,
                                info.ofaCount, info.memorySizeMB});
  }
}

void ReadMigPlacement(Caller& call, abi::Device parent, unsigned gpu_instance, MigFacts& mig) {
  const auto handle = call.Ask<Fn::nvmlDeviceGetGpuInstanceById, abi::GpuInstance>(parent, gpu_instance);
  if (!handle) return;
  const auto info = call.Ask<Fn::nvmlGpuInstanceGetInfo, abi::GpuInstanceInfo>(*handle);
  if (!info) return;
  mig.profile_id = info->profileId;
  mig.placement_start = info->placement.start;
  mig.placement_size = info->placement.size;
}

void ReadMigDevice(Caller& call, abi::Device parent, abi::Device device, MigFacts& mig) {
  mig.uuid = AskText<Fn::nvmlDeviceGetUUID, abi::kUuidSize>(call, device);
  mig.gpu_instance = call.Ask<Fn::nvmlDeviceGetGpuInstanceId>(device);
  mig.compute_instance = call.Ask<Fn::nvmlDeviceGetComputeInstanceId>(device);
  if (const auto attributes = call.Ask<Fn::nvmlDeviceGetAttributes_v2, abi::DeviceAttributes>(device)) {
    mig.compute_slices = attributes->computeInstanceSliceCount;
    mig.multiprocessors = attributes->multiprocessorCount;
  }
  if (mig.gpu_instance) ReadMigPlacement(call, parent, *mig.gpu_instance, mig);
}

// The MIG device in one slot, or nothing when the slot is empty. One that cannot be looked at is there, with a gap.
std::optional<MigFacts> ReadMigSlot(Caller& call, abi::Device parent, unsigned gpu_index, unsigned slot) {
  MigFacts mig;
  mig.index = slot;
  call.About(gpu_index, mig.gaps);
  abi::Device device = nullptr;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetMigDeviceHandleByIndex>(parent, slot, &device);
  if (code == abi::kNotFound || code == abi::kInvalidArgument) return std::nullopt;
  if (code == abi::kSuccess) {
    ReadMigDevice(call, parent, device, mig);
  } else if (code != Caller::kAvoided) {
    call.Note(Fn::nvmlDeviceGetMigDeviceHandleByIndex, CodeText(code));
  }
  return mig;
}

void ReadMig(Caller& call, abi::Device device, GpuFacts& gpu) {
  unsigned current = 0;
  unsigned pending = 0;
  if (call.Call<Fn::nvmlDeviceGetMigMode>(device, &current, &pending) != Outcome::kOk) return;
  gpu.mig_enabled = AsFlag(current);
  if (!gpu.mig_enabled) call.Note(Fn::nvmlDeviceGetMigMode, "answered with garbage");
  if (gpu.mig_enabled != true) return;

  ReadMigProfiles(call, device, gpu);
  unsigned count = 0;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetMaxMigDeviceCount>(device, &count);
  if (code != abi::kSuccess && code != Caller::kAvoided) {  // With MIG on there is no other answer.
    call.Note(Fn::nvmlDeviceGetMaxMigDeviceCount, CodeText(code));
  }
  if (code != abi::kSuccess) return;
  if (count > kMostMigDevices) return call.Note(Fn::nvmlDeviceGetMaxMigDeviceCount, "answered with garbage");
  for (unsigned slot = 0; slot < count; ++slot) {
    if (auto mig = ReadMigSlot(call, device, gpu.index, slot)) gpu.mig_devices.push_back(std::move(*mig));
  }
  call.About(gpu.index, gpu.gaps);
}

void ReadGpu(Caller& call, GpuFacts& gpu) {
  call.About(gpu.index, gpu.gaps);
  if (const Avoid* avoid = call.AvoidedAltogether()) {
    return call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, avoid->reason);
  }
  abi::Device device = nullptr;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetHandleByIndex_v2>(gpu.index, &device);
  if (code != abi::kSuccess) {
    if (code != Caller::kAvoided) {
      call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, CodeText(code));
    }
    return;
  }
  ReadIdentity(call, device, gpu);
  ReadPci(call, device, gpu);
  ReadModes(call, device, gpu);
  ReadLinks(call, device, gpu);
  gpu.fabric = AskFabric(call, device);
  ReadMig(call, device, gpu);
}

}  // namespace

Result<MachineFacts> ReadMachine(const Api& api, const std::vector<Avoid>& avoid, Progress& progress) {
  MachineFacts machine;
  Caller call(api, avoid, progress);
  call.About(Progress::kNoGpu, machine.gaps);

  machine.driver_version = AskDriverVersion(call);
  if (const auto cuda = call.Ask<Fn::nvmlSystemGetCudaDriverVersion, int>()) {
    machine.cuda_version = static_cast<unsigned>(*cuda);
  }

  TESSERA_ASSIGN(const unsigned count, AskGpuCount(call, machine.gaps));
  machine.gpus.resize(count);
  for (unsigned index = 0; index < count; ++index) {
    machine.gpus[index].index = index;
    ReadGpu(call, machine.gpus[index]);
  }
  Vet(machine);
  return machine;
}

}  // namespace tessera::nvml
