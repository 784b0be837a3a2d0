#include "nvml/read.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace tessera::nvml {
namespace {

// More GPUs than any machine has, and fewer than a garbled answer: the kernel module numbers at most this many.
constexpr unsigned kMaxGpus = 256;
constexpr unsigned kMaxMigDevices = 64;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
bool IsUuid(std::string_view text) {
  const auto parts = Split(text, '-');
  constexpr std::array<std::size_t, 5> kLengths{8, 4, 4, 4, 12};
  if (parts.size() != kLengths.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() != kLengths[i] || !IsHex(parts[i])) return false;
  }
  return true;
}

bool IsGpuUuid(std::string_view text) { return text.starts_with("GPU-") && IsUuid(text.substr(4)); }

// "MIG-<uuid>", or "MIG-GPU-<uuid>/<gi>/<ci>" before R470.
bool IsMigUuid(std::string_view text) {
  if (!text.starts_with("MIG-")) return false;
  text.remove_prefix(4);
  if (IsUuid(text)) return true;
  const auto parts = Split(text, '/');
  return parts.size() == 3 && IsGpuUuid(parts[0]) && ParseNumber<unsigned>(parts[1]) && ParseNumber<unsigned>(parts[2]);
}

// "00000000:3B:00.0"
bool IsBusId(std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3 || parts[0].size() < 4 || parts[0].size() > 8 || parts[1].size() != 2) return false;
  return ParseNumber<unsigned>(parts[0], 16) && ParseNumber<unsigned>(parts[1], 16) && parts[2].size() == 4 &&
         parts[2][2] == '.' && ParseNumber<unsigned>(parts[2].substr(0, 2), 16) &&
         ParseNumber<unsigned>(parts[2].substr(3), 16);
}

// A C string in a fixed buffer, whether or not the library ended it. Empty when it holds anything but printable ASCII.
template <std::size_t N>
std::string_view Printable(const char (&buffer)[N]) {
  const std::string_view text(buffer, ::strnlen(buffer, N));
  if (text.size() == N) return {};
  const bool clean = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
  return clean ? Trim(text) : std::string_view();
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

// A text that must look right; garbage is a gap.
template <Fn fn, std::size_t N>
std::string AskText(Caller& call, abi::Device device, bool (*valid)(std::string_view)) {
  char buffer[N] = {};
  if (call.Call<fn>(device, buffer, static_cast<unsigned>(N)) != Outcome::kOk) return {};
  const std::string_view text = Printable(buffer);
  if (valid(text)) return std::string(text);
  call.Note(fn, "answered with garbage");
  return {};
}

bool IsFilled(std::string_view text) { return !text.empty(); }

// Keeps a number only when it is one the hardware can have.
template <Fn fn, class T>
std::optional<T> Within(Caller& call, std::optional<T> value, T limit) {
  if (value && *value > limit) {
    call.Note(fn, "answered with garbage");
    return std::nullopt;
  }
  return value;
}

std::optional<bool> AsFlag(std::optional<unsigned> value) {
  if (!value || *value > 1) return std::nullopt;
  return *value == 1;
}

void ReadPci(Caller& call, abi::Device device, GpuFacts& gpu) {
  const auto pci = call.Ask<Fn::nvmlDeviceGetPciInfo_v3, abi::PciInfo>(device);
  if (!pci) return;
  const std::string_view bus_id = Printable(pci->busId);
  if (!IsBusId(bus_id)) return call.Note(Fn::nvmlDeviceGetPciInfo_v3, "answered with garbage");
  gpu.bus_id = bus_id;
  gpu.pci_device_id = pci->pciDeviceId;
}

void ReadIdentity(Caller& call, abi::Device device, GpuFacts& gpu) {
  gpu.uuid = AskText<Fn::nvmlDeviceGetUUID, abi::kUuidSize>(call, device, IsGpuUuid);
  // The driver has room for minors up to its 20 bits; a real machine stays far below.
  gpu.minor = Within<Fn::nvmlDeviceGetMinorNumber>(call, call.Ask<Fn::nvmlDeviceGetMinorNumber>(device), 0xFFFFFU);
  gpu.name = AskText<Fn::nvmlDeviceGetName, abi::kNameSize>(call, device, IsFilled);
  gpu.serial = AskText<Fn::nvmlDeviceGetSerial, abi::kSerialSize>(call, device, IsFilled);
  gpu.brand = call.Ask<Fn::nvmlDeviceGetBrand>(device);
  gpu.architecture = call.Ask<Fn::nvmlDeviceGetArchitecture>(device);
  gpu.module_id = Within<Fn::nvmlDeviceGetModuleId>(call, call.Ask<Fn::nvmlDeviceGetModuleId>(device), 0xFFFFU);

  int major = 0;
  int minor = 0;
  if (call.Call<Fn::nvmlDeviceGetCudaComputeCapability>(device, &major, &minor) != Outcome::kOk) return;
  if (major < 1 || major > 99 || minor < 0 || minor > 99) {
    return call.Note(Fn::nvmlDeviceGetCudaComputeCapability, "answered with garbage");
  }
  gpu.cc_major = static_cast<unsigned>(major);
  gpu.cc_minor = static_cast<unsigned>(minor);
}

void ReadMemory(Caller& call, abi::Device device, GpuFacts& gpu) {
  const auto memory = call.Ask<Fn::nvmlDeviceGetMemoryInfo, abi::Memory>(device);
  if (!memory) return;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;  // 256 TiB: the width of a GPU's address bus.
  gpu.memory_bytes = Within<Fn::nvmlDeviceGetMemoryInfo>(call, std::optional<std::uint64_t>(memory->total), kMost);
}

void ReadModes(Caller& call, abi::Device device, GpuFacts& gpu) {
  abi::AddressingMode mode{abi::VersionOf<abi::AddressingMode>(1), 0};
  if (call.Call<Fn::nvmlDeviceGetAddressingMode>(device, &mode) == Outcome::kOk) gpu.addressing_mode = mode.value;

  unsigned current = 0;
  unsigned pending = 0;
  if (call.Call<Fn::nvmlDeviceGetEccMode>(device, &current, &pending) == Outcome::kOk) gpu.ecc = AsFlag(current);
  gpu.persistence = AsFlag(call.Ask<Fn::nvmlDeviceGetPersistenceMode>(device));
  gpu.pcie_generation = Within<Fn::nvmlDeviceGetMaxPcieLinkGeneration>(
      call, call.Ask<Fn::nvmlDeviceGetMaxPcieLinkGeneration>(device), 16U);
  gpu.pcie_width =
      Within<Fn::nvmlDeviceGetMaxPcieLinkWidth>(call, call.Ask<Fn::nvmlDeviceGetMaxPcieLinkWidth>(device), 64U);
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
  for (unsigned link = 0; link < abi::kMaxNvLinks; ++link) {
    unsigned state = 0;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetNvLinkState>(device, link, &state);
    // Out of range ends the list; "not supported" is a GPU, or the rest of its links, without NVLink.
    if (code == Caller::kAvoided || code == abi::kInvalidArgument || code == abi::kNotSupported ||
        code == abi::kFunctionNotFound) {
      return;
    }
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetNvLinkState, Format("{} ({})", ReturnText(code), code));
      return;
    }
    NvLinkFacts facts;
    facts.link = link;
    facts.active = state == 1;
    facts.version = call.Ask<Fn::nvmlDeviceGetNvLinkVersion>(device, link);
    facts.remote_type = call.Ask<Fn::nvmlDeviceGetNvLinkRemoteDeviceType>(device, link);
    if (facts.active) {
      const auto remote = call.Ask<Fn::nvmlDeviceGetNvLinkRemotePciInfo_v2, abi::PciInfo>(device, link);
      if (remote && IsBusId(Printable(remote->busId))) facts.remote_bus_id = Printable(remote->busId);
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
  for (unsigned number = 0; number < abi::kGpuInstanceProfileCount; ++number) {
    abi::GpuInstanceProfileInfo info{};
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetGpuInstanceProfileInfo>(device, number, &info);
    if (code == abi::kNotSupported) continue;  // Known to the library, not on this GPU.
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound || code == Caller::kAvoided) return;
    if (code != abi::kSuccess) {
      return call.Note(Fn::nvmlDeviceGetGpuInstanceProfileInfo, Format("{} ({})", ReturnText(code), code));
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
  constexpr unsigned kMaxSlices = 16;  // Twice what any GPU has.
  if (info->placement.start >= kMaxSlices || info->placement.size == 0 || info->placement.size > kMaxSlices) {
    return call.Note(Fn::nvmlGpuInstanceGetInfo, "answered with garbage");
  }
  mig.profile_id = info->profileId;
  mig.placement_start = info->placement.start;
  mig.placement_size = info->placement.size;
}

MigFacts ReadMigDevice(Caller& call, abi::Device parent, abi::Device device, unsigned gpu_index, unsigned index) {
  MigFacts mig;
  mig.index = index;
  call.About(gpu_index, mig.gaps);
  mig.uuid = AskText<Fn::nvmlDeviceGetUUID, abi::kUuidSize>(call, device, IsMigUuid);
  // At most 15 GPU instances and 8 compute instances each exist on any GPU (nvidia-caps/mig-minors).
  mig.gpu_instance =
      Within<Fn::nvmlDeviceGetGpuInstanceId>(call, call.Ask<Fn::nvmlDeviceGetGpuInstanceId>(device), 63U);
  mig.compute_instance =
      Within<Fn::nvmlDeviceGetComputeInstanceId>(call, call.Ask<Fn::nvmlDeviceGetComputeInstanceId>(device), 63U);
  if (const auto attributes = call.Ask<Fn::nvmlDeviceGetAttributes_v2, abi::DeviceAttributes>(device)) {
    mig.compute_slices = attributes->computeInstanceSliceCount;
    mig.multiprocessors = attributes->multiprocessorCount;
  }
  if (mig.gpu_instance) ReadMigPlacement(call, parent, *mig.gpu_instance, mig);
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
  const auto count = call.Ask<Fn::nvmlDeviceGetMaxMigDeviceCount>(device);
  for (unsigned index = 0; index < std::min(count.value_or(0), kMaxMigDevices); ++index) {
    abi::Device mig = nullptr;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetMigDeviceHandleByIndex>(device, index, &mig);
    if (code == abi::kNotFound || code == abi::kInvalidArgument) continue;  // An empty slot.
    if (code == Caller::kAvoided) return;
    if (code != abi::kSuccess) {
      call.Note(Fn::nvmlDeviceGetMigDeviceHandleByIndex, Format("{} ({})", ReturnText(code), code));
      continue;
    }
    gpu.mig_devices.push_back(ReadMigDevice(call, device, mig, gpu.index, index));
    call.About(gpu.index, gpu.gaps);
  }
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
  ReadMemory(call, device, gpu);
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
    machine.driver_version = Printable(version);
  }
  if (const auto cuda = call.Ask<Fn::nvmlSystemGetCudaDriverVersion, int>(); cuda && *cuda > 0 && *cuda < 1'000'000) {
    machine.cuda_version = static_cast<unsigned>(*cuda);
  }

  unsigned count = 0;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetCount_v2>(&count);
  if (code != abi::kSuccess || count > kMaxGpus) {
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
