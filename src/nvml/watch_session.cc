#include "nvml/watch_session.h"

#include <algorithm>
#include <bit>

#include "nvml/read_vitals.h"
#include "nvml/vet.h"

namespace tessera::nvml {
namespace {

constexpr unsigned long long kWatchedEvents = abi::kEventXidCritical | abi::kEventSingleBitEcc |
                                              abi::kEventDoubleBitEcc | abi::kEventRecoveryAction |
                                              abi::kEventMigConfigChange | abi::kEventGpuUnavailable;

constexpr std::chrono::seconds kMostTimeOfAGpu{1};  // In one reading; all its calls together take milliseconds.

std::optional<unsigned> Instance(unsigned id) { return id == abi::kNoInstance ? std::nullopt : std::optional(id); }

}  // namespace

Result<WatchSession> WatchSession::Open(const Library& library, std::vector<Avoid> avoid, Progress& progress) {
  WatchSession session(library.api(), std::move(avoid), progress);
  Caller call(session.api_, session.avoid_, progress);
  call.About(Progress::kNoGpu, session.gaps_);
  session.driver_version_ = AskDriverVersion(call);
  TESSERA_ASSIGN(const unsigned count, AskGpuCount(call, session.gaps_));
  session.gpus_.resize(count);
  return session;
}

Result<MachineVitals> WatchSession::Read() {
  MachineVitals machine{.driver_version = driver_version_, .gpus = std::vector<GpuVitals>(gpus_.size()), .gaps = gaps_};
  Caller call(api_, avoid_, progress_);
  for (unsigned index = 0; index < gpus_.size(); ++index) Reach(call, index, machine.gpus[index]);
  RegisterAll();  // Before reading: what happens from here on is an event, what happened before is in the counters.
  for (unsigned index = 0; index < gpus_.size(); ++index) {
    GpuVitals& vitals = machine.gpus[index];
    if (gpus_[index].device != nullptr && !vitals.silent) {
      call.About(index, vitals.gaps);
      call.Until(std::chrono::steady_clock::now() + kMostTimeOfAGpu);
      ReadVitals(call, gpus_[index].device, gpus_[index].links.value_or(std::vector<unsigned>{}), vitals);
      MarkIfLost(call, index, vitals);
    }
    vitals.gaps.insert(vitals.gaps.end(), gpus_[index].event_gaps.begin(), gpus_[index].event_gaps.end());
  }
  machine.gaps.insert(machine.gaps.end(), set_gaps_.begin(), set_gaps_.end());
  machine.gaps.insert(machine.gaps.end(), wait_gaps_.begin(), wait_gaps_.end());
  if (call.driver_gone()) {  // One GPU may say so by mistake; then the driver itself still answers.
    call.About(Progress::kNoGpu, machine.gaps);
    unsigned count = 0;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetCount_v2>(&count);
    if (IsDriverGone(code)) return std::unexpected(InitError(abi::kDriverNotLoaded));
  }
  return machine;
}

void WatchSession::Reach(Caller& call, unsigned index, GpuVitals& vitals) {
  Gpu& gpu = gpus_[index];
  vitals.uuid = gpu.uuid;
  vitals.bus_id = gpu.bus_id;
  call.About(index, vitals.gaps);
  if (const Avoid* avoid = call.AvoidedAltogether()) {
    vitals.silent = true;
    return call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, avoid->reason);
  }
  if (gpu.device == nullptr) {
    LookUp(call, index, vitals);
  } else {
    char uuid[abi::kUuidSize] = {};
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetUUID>(gpu.device, uuid, abi::kUuidSize);
    if (code != abi::kSuccess) call.Note(Fn::nvmlDeviceGetUUID, CodeText(code));
    // A handle that is not one any more: its GPU was taken out.
    vitals.lost = code == abi::kInvalidArgument || code == abi::kNotFound;
  }
  if (gpu.device != nullptr && !vitals.lost && !call.lost()) Learn(call, gpu, vitals);
  MarkIfLost(call, index, vitals);
}

void WatchSession::LookUp(Caller& call, unsigned index, GpuVitals& vitals) {
  Gpu& gpu = gpus_[index];
  abi::Device device = nullptr;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetHandleByIndex_v2>(index, &device);
  if (code != abi::kSuccess) {
    vitals.lost = !gpu.uuid.empty();
    return call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, CodeText(code));
  }
  const std::string uuid = AskText<Fn::nvmlDeviceGetUUID, abi::kUuidSize>(call, device);
  if (!IsGpuUuid(uuid)) {
    if (!uuid.empty()) call.Note(Fn::nvmlDeviceGetUUID, "answered with garbage");
    return;
  }
  if (!gpu.uuid.empty() && uuid != gpu.uuid) {  // Others moved up to its index when it was taken out.
    vitals.lost = true;
    return call.Note(Fn::nvmlDeviceGetHandleByIndex_v2, "another GPU is in its place");
  }
  gpu.device = gpu.named = device;
  vitals.uuid = gpu.uuid = uuid;
}

void WatchSession::Learn(Caller& call, Gpu& gpu, GpuVitals& vitals) {
  call.Until(std::chrono::steady_clock::now() + kMostTimeOfAGpu);
  if (gpu.bus_id.empty()) {
    const auto pci = call.Ask<Fn::nvmlDeviceGetPciInfo_v3, abi::PciInfo>(gpu.device);
    if (pci && IsBusId(TextIn(pci->busId))) vitals.bus_id = gpu.bus_id = TextIn(pci->busId);
  }
  if (!gpu.links) gpu.links = FindLinks(call, gpu.device);
}

void WatchSession::MarkIfLost(const Caller& call, unsigned index, GpuVitals& vitals) {
  if (!vitals.lost && !call.lost()) return;
  // Nothing but who it is and what is wrong.
  vitals = GpuVitals{.uuid = vitals.uuid, .bus_id = vitals.bus_id, .lost = true, .gaps = std::move(vitals.gaps)};
  gpus_[index].device = nullptr;  // Looked up again the next time: an old handle may stay dead when the GPU comes back.
  gpus_[index].registered = false;
}

abi::Return WatchSession::Wait(std::chrono::milliseconds timeout, GpuEvent& event) {
  if (set_ == nullptr) return Caller::kAvoided;
  wait_gaps_.clear();
  Caller call(api_, avoid_, progress_);
  call.About(Progress::kNoGpu, wait_gaps_);
  abi::EventData data{};
  const abi::Return code =
      call.Raw<Fn::nvmlEventSetWait_v2>(set_, &data, static_cast<unsigned>(std::max<std::int64_t>(timeout.count(), 0)));
  if (code == abi::kSuccess && (!std::has_single_bit(data.eventType) || (data.eventType & kWatchedEvents) == 0)) {
    call.Note(Fn::nvmlEventSetWait_v2, "answered with garbage");
    return abi::kUnknown;
  }
  if (code == abi::kSuccess) {
    event = {.type = data.eventType,
             .data = data.eventData,
             .uuid = UuidOf(data.device),
             .gpu_instance = Instance(data.gpuInstanceId),
             .compute_instance = Instance(data.computeInstanceId)};
  } else if (code != abi::kTimeout && code != abi::kGpuIsLost && code != Caller::kAvoided) {
    call.Note(Fn::nvmlEventSetWait_v2, CodeText(code));
  }
  return code;
}

std::string WatchSession::UuidOf(abi::Device device) const {
  const auto gpu = std::ranges::find_if(gpus_, [&](const Gpu& g) { return device != nullptr && g.named == device; });
  return gpu == gpus_.end() ? std::string() : gpu->uuid;
}

void WatchSession::RenewEvents() {
  Caller call(api_, avoid_, progress_);
  std::vector<Gap> unused;
  call.About(Progress::kNoGpu, unused);
  if (set_ != nullptr) call.Raw<Fn::nvmlEventSetFree>(set_);
  set_ = nullptr;
  for (Gpu& gpu : gpus_) gpu.registered = false;
  RegisterAll();
}

void WatchSession::RegisterAll() {
  Caller call(api_, avoid_, progress_);
  if (set_ == nullptr) {
    set_gaps_.clear();
    call.About(Progress::kNoGpu, set_gaps_);
    if (!call.Has<Fn::nvmlEventSetWait_v2>()) return call.Note(Fn::nvmlEventSetWait_v2, "the driver does not have it");
    if (call.Call<Fn::nvmlEventSetCreate>(&set_) != Outcome::kOk) return;
  }
  for (unsigned index = 0; index < gpus_.size(); ++index) {
    if (!Register(index)) return RenewEvents();
  }
}

bool WatchSession::Register(unsigned index) {
  Gpu& gpu = gpus_[index];
  if (gpu.device == nullptr || gpu.registered || gpu.refused) return true;
  gpu.event_gaps.clear();
  Caller call(api_, avoid_, progress_);
  call.About(index, gpu.event_gaps);
  if (call.AvoidedAltogether() != nullptr) return true;
  unsigned long long supported = 0;
  if (call.Call<Fn::nvmlDeviceGetSupportedEventTypes>(gpu.device, &supported) == Outcome::kFailed) return true;
  if ((supported & kWatchedEvents) == 0) {
    call.Note(Fn::nvmlDeviceGetSupportedEventTypes, "it sends none of the events we watch for");
    return true;
  }
  const abi::Return code = call.Raw<Fn::nvmlDeviceRegisterEvents>(gpu.device, supported & kWatchedEvents, set_);
  gpu.registered = code == abi::kSuccess;
  if (code != abi::kSuccess && code != Caller::kAvoided) call.Note(Fn::nvmlDeviceRegisterEvents, CodeText(code));
  // After an unknown error the set is undefined, says NVML's documentation.
  gpu.refused = code == abi::kUnknown;
  return !gpu.refused;
}

}  // namespace tessera::nvml
