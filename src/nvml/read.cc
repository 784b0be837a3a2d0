#include "nvml/read.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "nvml/vet.h"

namespace tessera::nvml {
namespace {

// A C string in a fixed buffer, whether or not the library ended it.
template <std::size_t N>
std::string_view TextIn(const char (&buffer)[N]) {
  return Trim(std::string_view(buffer, ::strnlen(buffer, N)));
}

std::string UuidText(const unsigned char (&bytes)[16]) {
  std::string text;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += Format("{:02x}", bytes[i]);
  }
  return text;
}

// What a call came to.
enum class Outcome : std::uint8_t { kOk, kAbsent, kFailed };

// Makes the calls: skips what is to be avoided, notes where it is, and turns failures into gaps.
class Caller {
 public:
  Caller(const Api& api, const std::vector<Avoid>& avoid, Progress& progress)
      : api_(api), avoid_(avoid), progress_(progress) {}

  // Calls are about this GPU from now on, and their gaps go to `gaps`.
  void About(std::uint32_t gpu, std::vector<Gap>& gaps) {
    gpu_ = gpu;
    gaps_ = &gaps;
  }

  // Runs one NVML function. Absent: the driver lacks it, or says that this GPU has no such thing.
  template <Fn fn, class... Args>
  Outcome Call(Args... args) {
    const abi::Return code = Raw<fn>(args...);
    if (code == abi::kSuccess) return Outcome::kOk;
    if (code == kAvoided) return Outcome::kFailed;
    if (code == abi::kNotSupported || code == abi::kFunctionNotFound) return Outcome::kAbsent;
    Note(fn, Format("{} ({})", ReturnText(code), code));
    return Outcome::kFailed;
  }

  // The return code itself, for calls whose failure is an answer. kAvoided has left a gap already.
  template <Fn fn, class... Args>
  abi::Return Raw(Args... args) {
    if (const Avoid* avoid = Avoided(Name(fn))) {
      Note(fn, avoid->reason);
      return kAvoided;
    }
    const auto function = api_.Get<fn>();
    if (function == nullptr) return abi::kFunctionNotFound;
    const CallScope scope(progress_, fn, gpu_);
    return function(args...);
  }

  // The value a call wrote through its last argument, or nothing.
  template <Fn fn, class T = unsigned, class... Args>
  std::optional<T> Ask(Args... args) {
    T value{};
    if (Call<fn>(args..., &value) != Outcome::kOk) return std::nullopt;
    return value;
  }

  void Note(Fn fn, std::string reason) {
    const Gap gap{std::string(Name(fn)), std::move(reason)};
    if (std::ranges::find(*gaps_, gap) == gaps_->end()) gaps_->push_back(gap);  // One of 18 links is enough.
  }

  // Whether the whole GPU is to be left alone.
  const Avoid* AvoidedAltogether() const { return Avoided("*"); }

  static constexpr abi::Return kAvoided = -1;

 private:
  const Avoid* Avoided(std::string_view function) const {
    for (const Avoid& avoid : avoid_) {
      if (avoid.function == function && (!avoid.gpu || *avoid.gpu == gpu_)) return &avoid;
    }
    return nullptr;
  }

  const Api& api_;
  const std::vector<Avoid>& avoid_;
  Progress& progress_;
  std::uint32_t gpu_ = Progress::kNoGpu;
  std::vector<Gap>* gaps_ = nullptr;
};

template <Fn fn, std::size_t N>
std::string AskText(Caller& call, abi::Device device) {
  char buffer[N] = {};
  if (call.Call<fn>(device, buffer, static_cast<unsigned>(N)) != Outcome::kOk) return {};
  return std::string(TextIn(buffer));
}

std::optional<bool> AsFlag(std::optional<unsigned> value) {
  if (!value || *value > 1) return std::nullopt;
  return *value == 1;
}

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

  // Pre-set to "unknown": real libraries leave entries of a batch untouched and still answer success.
  abi::FieldValue recovery{};
  recovery.fieldId = abi::kFieldRecoveryAction;
  recovery.nvmlReturn = abi::kUnknown;
  if (call.Call<Fn::nvmlDeviceGetFieldValues>(device, 1, &recovery) == Outcome::kOk &&
      recovery.nvmlReturn == abi::kSuccess && recovery.valueType == abi::kFieldUnsigned) {
    gpu.recovery_action = recovery.value.uiVal;
  }
}

void ReadLinks(Caller& call, abi::Device device, GpuFacts& gpu) {
  // Not up to the number in a header: newer drivers know more. Out of range ends the list.
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = 0;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetNvLinkState>(device, link, &state);
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound || code == Caller::kAvoided) return;
    if (code == abi::kNotSupported) continue;  // This GPU, or this one of its links, has none.
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetNvLinkState, Format("{} ({})", ReturnText(code), code));
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

template <class Info>
FabricFacts ToFabric(const Info& info) {
  return {info.state, info.status, UuidText(info.clusterUuid), info.cliqueId, std::nullopt};
}

// The newest form the library takes: v3, then v2, then the deprecated call without a version.
void ReadFabric(Caller& call, abi::Device device, GpuFacts& gpu) {
  abi::FabricInfoV3 v3{};
  v3.version = abi::VersionOf<abi::FabricInfoV3>(3);
  abi::Return code = call.Raw<Fn::nvmlDeviceGetGpuFabricInfoV>(device, static_cast<void*>(&v3));
  if (code == abi::kSuccess) {
    gpu.fabric = ToFabric(v3);
    gpu.fabric->health_mask = v3.healthMask;
    return;
  }
  if (code == abi::kArgumentVersionMismatch || code == abi::kInvalidArgument) {
    abi::FabricInfoV2 v2{};
    v2.version = abi::VersionOf<abi::FabricInfoV2>(2);
    code = call.Raw<Fn::nvmlDeviceGetGpuFabricInfoV>(device, static_cast<void*>(&v2));
    if (code == abi::kSuccess) {
      gpu.fabric = ToFabric(v2);
      gpu.fabric->health_mask = v2.healthMask;
      return;
    }
  }
  if (code == abi::kFunctionNotFound || code == Caller::kAvoided) {
    const auto v1 = call.Ask<Fn::nvmlDeviceGetGpuFabricInfo, abi::FabricInfo>(device);
    if (v1) gpu.fabric = ToFabric(*v1);
    return;
  }
  if (code != abi::kNotSupported) {
    call.Note(Fn::nvmlDeviceGetGpuFabricInfoV, Format("{} ({})", ReturnText(code), code));
  }
}

void ReadMigProfiles(Caller& call, abi::Device device, GpuFacts& gpu) {
  for (unsigned number = 0; number < kMostProfiles; ++number) {
    abi::GpuInstanceProfileInfo info{};
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetGpuInstanceProfileInfo>(device, number, &info);
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound || code == Caller::kAvoided) return;
    if (code == abi::kNotSupported) continue;  // Known to the library, not on this GPU.
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetGpuInstanceProfileInfo, Format("{} ({})", ReturnText(code), code));
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
    call.Note(Fn::nvmlDeviceGetMigDeviceHandleByIndex, Format("{} ({})", ReturnText(code), code));
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
    call.Note(Fn::nvmlDeviceGetMaxMigDeviceCount, Format("{} ({})", ReturnText(code), code));
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
      call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, Format("{} ({})", ReturnText(code), code));
    }
    return;
  }
  ReadIdentity(call, device, gpu);
  ReadPci(call, device, gpu);
  ReadModes(call, device, gpu);
  ReadLinks(call, device, gpu);
  ReadFabric(call, device, gpu);
  ReadMig(call, device, gpu);
}

}  // namespace

Result<MachineFacts> ReadMachine(const Api& api, const std::vector<Avoid>& avoid, Progress& progress) {
  MachineFacts machine;
  Caller call(api, avoid, progress);
  call.About(Progress::kNoGpu, machine.gaps);

  char version[abi::kDriverVersionSize] = {};
  if (call.Call<Fn::nvmlSystemGetDriverVersion>(version, abi::kDriverVersionSize) == Outcome::kOk) {
    machine.driver_version = TextIn(version);
  }
  if (const auto cuda = call.Ask<Fn::nvmlSystemGetCudaDriverVersion, int>()) {
    machine.cuda_version = static_cast<unsigned>(*cuda);
  }

  unsigned count = 0;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetCount_v2>(&count);
  if (code != abi::kSuccess || count > kMostGpus) {
    const std::string found = code == Caller::kAvoided ? machine.gaps.back().reason
                              : code != abi::kSuccess  ? Format("{} ({})", ReturnText(code), code)
                                                       : Format("{} is no number of GPUs", count);
    return BadDevice("GpuCountUnknown", Format("nvmlDeviceGetCount_v2: {}", found),
                     "run nvidia-smi on the node; if it fails as well, reload the NVIDIA driver");
  }
  machine.gpus.resize(count);
  for (unsigned index = 0; index < count; ++index) {
    machine.gpus[index].index = index;
    ReadGpu(call, machine.gpus[index]);
  }
  Vet(machine);
  return machine;
}

Error InitError(abi::Return code) {
  const std::string message = Format("nvmlInit: {} ({})", ReturnText(code), code);
  switch (code) {
    case abi::kDriverNotLoaded:
      return Error(ErrorKind::kTransient, "DriverNotLoaded", message,
                   "load the nvidia kernel module (modprobe nvidia)");
    case abi::kLibRmVersionMismatch:
      return Error(ErrorKind::kPermanentDevice, "DriverVersionMismatch", message,
                   "the driver was upgraded under running programs: drain the node and reload the module, or reboot");
    case abi::kNoPermission:
      return Error(ErrorKind::kPermanentConfig, "DriverNoPermission", message,
                   "run with access to /dev/nvidiactl and /dev/nvidia*");
    default:
      return Error(ErrorKind::kPermanentDevice, "DriverUnusable", message, "run nvidia-smi on the node");
  }
}

}  // namespace tessera::nvml
