// Event sets: what happened on the GPUs they watch, each event once for each set.
#include "sim/library/events.h"

#include <algorithm>
#include <deque>
#include <set>

#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// One event set. Safe to wait on from several threads: each event goes to one of them.
class Listener {
 public:
  explicit Listener(std::uint64_t newest) : cursor_(newest) {}

  // Earlier events are not this watch's.
  void Watch(unsigned minor, std::uint64_t types, std::uint64_t newest) {
    const std::scoped_lock hold(mutex_);
    auto& watch = watches_[minor];
    watch.types |= types;
    watch.after = std::max(watch.after, newest);
  }

  Outcome<EventData> Wait(Store& store, milliseconds timeout) {
    const auto deadline = steady_clock::now() + timeout;
    auto patience = milliseconds::zero();  // First take what is there.
    auto machine = store.Read();
    for (;;) {
      if (!machine.has_value()) return Fail(kUnknown);
      const auto events = store.WaitEvents(cursor(), patience, (*machine)->generation);
      if (!events.has_value()) return Fail(kUnknown);
      if (const auto event = Take(*events)) return Describe(**machine, *event);
      machine = store.Read();
      if (machine.has_value() && TellLoss(**machine)) return Fail(kGpuIsLost);
      patience = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
      if (patience <= milliseconds::zero()) return Fail(kTimeout);
    }
  }

 private:
  struct Watched {
    std::uint64_t types = 0;
    std::uint64_t after = 0;  // Sequence number.
  };

  std::uint64_t cursor() {
    const std::scoped_lock hold(mutex_);
    return cursor_;
  }

  bool Wants(const Event& event) const {
    const auto watch = watches_.find(event.minor);
    return watch != watches_.end() && event.sequence > watch->second.after && (watch->second.types & event.type) != 0;
  }

  // Queues what is new and wanted, and takes the oldest.
  std::optional<Event> Take(const std::vector<Event>& events) {
    const std::scoped_lock hold(mutex_);
    for (const Event& event : events) {
      if (event.sequence <= cursor_) continue;  // Another thread was quicker.
      cursor_ = event.sequence;
      if (Wants(event)) waiting_.push_back(event);
    }
    if (waiting_.empty()) return std::nullopt;
    const Event event = waiting_.front();
    waiting_.pop_front();
    return event;
  }

  // Whether a watched GPU has vanished since the last time we said so.
  bool TellLoss(const Machine& machine) {
    const std::scoped_lock hold(mutex_);
    bool is_new = false;
    for (const Gpu& gpu : machine.gpus) {
      if (!watches_.contains(gpu.minor)) continue;
      const bool gone = gpu.lost || !gpu.present || gpu.vfio || !machine.driver_loaded;
      if (!gone) {
        lost_.erase(gpu.minor);
      } else if (lost_.insert(gpu.minor).second) {
        is_new = true;
      }
    }
    return is_new;
  }

  static EventData Describe(const Machine& machine, const Event& event) {
    const auto gpu = std::ranges::find(machine.gpus, event.minor, &Gpu::minor);
    return {.device = gpu == machine.gpus.end() ? nullptr : HandleOf(*gpu),
            .eventType = event.type,
            .eventData = event.data,
            .gpuInstanceId = event.gpu_instance,
            .computeInstanceId = event.compute_instance};
  }

  std::mutex mutex_;  // Guards all below.
  std::uint64_t cursor_;
  std::map<unsigned, Watched> watches_;  // By minor.
  std::deque<Event> waiting_;
  std::set<unsigned> lost_;  // Minors told of.
};

SetRegistry<Listener>& Listeners() {
  static SetRegistry<Listener> listeners;
  return listeners;
}

Outcome<EventData> WaitOn(abi::EventSet set, unsigned timeout_ms) {
  const auto listener = Listeners().Find(set);
  if (!listener) return Fail(kInvalidArgument);
  const auto store = CurrentStore();
  if (!store) return Fail(kUninitialized);
  return listener->Wait(*store, milliseconds(timeout_ms));
}

}  // namespace

void FreeEventSets() {
  Listeners().Clear();
  FreeSystemEventSets();
}

NVML(nvmlEventSetCreate, abi::EventSet* set) {
  return Answer(__func__, kMachine, set, [](const Machine&) -> Outcome<abi::EventSet> {
    const auto store = CurrentStore();
    if (!store) return Fail(kUninitialized);
    return reinterpret_cast<abi::EventSet>(Listeners().Make(store->LastEvent()));
  });
}

NVML(nvmlEventSetFree, abi::EventSet set) {
  const Frame frame = Enter(__func__, At(kMachine));
  if (frame.status != kSuccess) return frame.status;
  return Listeners().Free(set) ? kSuccess : kInvalidArgument;
}

NVML(nvmlDeviceGetSupportedEventTypes, Device device, unsigned long long* types) {
  return Answer(__func__, device, types, [](const View& v) { return v.is_mig() ? 0 : v.model.events; });
}

// Watches nothing at all unless the GPU knows every type asked for. MIG devices have no events of their own.
NVML(nvmlDeviceRegisterEvents, Device device, unsigned long long types, abi::EventSet set) {
  const Frame frame = Enter(__func__, At(device));
  if (frame.status != kSuccess || frame.garbage) return frame.status;
  const auto listener = Listeners().Find(set);
  if (!listener) return kInvalidArgument;
  const Gpu& gpu = *frame.subject.gpu;
  const std::uint64_t supported = frame.subject.compute != nullptr ? 0 : ModelOf(*frame.machine, gpu)->events;
  if (types == 0 || (types & ~supported) != 0) return kNotSupported;
  listener->Watch(gpu.minor, types, frame.store->LastEvent());
  return kSuccess;
}

NVML(nvmlEventSetWait_v2, abi::EventSet set, EventData* data, unsigned timeout_ms) {
  return Answer(__func__, kMachine, data, [&](const Machine&) { return WaitOn(set, timeout_ms); });
}

// From before MIG: the struct ended without the instance ids.
NVML(nvmlEventSetWait, abi::EventSet set, EventData* data, unsigned timeout_ms) {
  return Answer(__func__, kMachine, Prefix{data, offsetof(EventData, gpuInstanceId)},
                [&](const Machine&) { return WaitOn(set, timeout_ms); });
}

}  // namespace tessera::sim::library
