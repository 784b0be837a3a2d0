// System event sets: the driver binds to a GPU or lets go of it. Nothing is injected for these; they follow from the
// machine, by comparing it with what the set saw last.
#include <algorithm>
#include <deque>
#include <set>

#include "sim/library/events.h"
#include "sim/library/library.h"
#include "sim/library/pci.h"

namespace tessera::sim::library {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr unsigned long long kUnbind = 1, kBind = 2;

std::set<unsigned> BoundGpus(const Machine& machine) {
  std::set<unsigned> ids;
  for (const Gpu& gpu : machine.gpus) {
    if (machine.driver_loaded && gpu.present && !gpu.vfio) ids.insert(BoardId(gpu));
  }
  return ids;
}

// One system event set. Safe to use from any thread.
class SystemListener {
 public:
  void Watch(const Machine& machine, unsigned long long types) {
    const std::scoped_lock hold(mutex_);
    if (types_ == 0) bound_ = BoundGpus(machine);
    types_ |= types;
  }

  // Up to `most` events, waiting for the first.
  Outcome<std::vector<SystemEventData>> Wait(Store& store, milliseconds timeout, unsigned most) {
    const auto deadline = steady_clock::now() + timeout;
    for (;;) {
      const auto machine = store.Read();
      if (!machine.has_value()) return Fail(kUnknown);
      if (auto events = Take(**machine, most); !events.empty()) return events;
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
      if (left <= milliseconds::zero()) return Fail(kTimeout);
      // Only the change of the machine matters; events of GPUs are passed over.
      if (!store.WaitEvents(store.LastEvent(), left, (*machine)->generation).has_value()) return Fail(kUnknown);
    }
  }

 private:
  std::vector<SystemEventData> Take(const Machine& machine, unsigned most) {
    const std::scoped_lock hold(mutex_);
    const auto bound = BoundGpus(machine);
    if (types_ != 0) {
      Queue(bound_, bound, kUnbind);
      Queue(bound, bound_, kBind);
      bound_ = bound;
    }
    std::vector<SystemEventData> events;
    while (!waiting_.empty() && events.size() < most) {
      events.push_back(waiting_.front());
      waiting_.pop_front();
    }
    return events;
  }

  // An event for each GPU that is in `from` and not in `without`.
  void Queue(const std::set<unsigned>& from, const std::set<unsigned>& without, unsigned long long type) {
    for (const unsigned id : from) {
      if (!without.contains(id) && (types_ & type) != 0) waiting_.push_back({.eventType = type, .gpuId = id});
    }
  }

  std::mutex mutex_;  // Guards all below.
  unsigned long long types_ = 0;
  std::set<unsigned> bound_;
  std::deque<SystemEventData> waiting_;
};

SetRegistry<SystemListener>& Listeners() {
  static SetRegistry<SystemListener> listeners;
  return listeners;
}

// The request says where the events go and how many fit.
struct WaitRequest {
  SystemEventSetWaitRequest* request;

  Return Check() const {
    const Return wrong = Versioned{request, 1}.Check();
    if (wrong != kSuccess) return wrong;
    return request->data == nullptr || request->dataSize == 0 ? kInvalidArgument : kSuccess;
  }
  void Spoil() const { SpoilBytes(request->data, sizeof(SystemEventData) * request->dataSize); }
  Return Write(const std::vector<SystemEventData>& events) const {
    std::ranges::copy(events, request->data);
    request->numEvent = static_cast<unsigned>(events.size());
    return kSuccess;
  }
};

// For requests that are only read.
template <class Request>
Return Handle(std::string_view function, const Request* request, const auto& serve) {
  const Frame frame = Enter(function, At(kMachine));
  if (frame.status != kSuccess || frame.garbage) return frame.status;
  const Return wrong = Versioned{request, 1}.Check();
  return wrong != kSuccess ? wrong : serve(*frame.machine);
}

}  // namespace

void FreeSystemEventSets() { Listeners().Clear(); }

NVML(nvmlSystemEventSetCreate, SystemEventSetRequest* request) {
  return Answer(__func__, kMachine, Versioned{request, 1}, [](const Machine&) {
    return SystemEventSetRequest{.version = 0, .set = reinterpret_cast<SystemEventSet>(Listeners().Make())};
  });
}

NVML(nvmlSystemEventSetFree, SystemEventSetRequest* request) {
  return Handle(__func__, request,
                [&](const Machine&) -> Return { return Listeners().Free(request->set) ? kSuccess : kInvalidArgument; });
}

NVML(nvmlSystemRegisterEvents, SystemRegisterEventRequest* request) {
  return Handle(__func__, request, [&](const Machine& machine) -> Return {
    const auto listener = Listeners().Find(request->set);
    if (!listener || request->eventTypes == 0) return kInvalidArgument;
    if ((request->eventTypes & ~(kUnbind | kBind)) != 0) return kNotSupported;
    listener->Watch(machine, request->eventTypes);
    return kSuccess;
  });
}

NVML(nvmlSystemEventSetWait, SystemEventSetWaitRequest* request) {
  return Answer(__func__, kMachine, WaitRequest{request}, [&](const Machine&) -> Outcome<std::vector<SystemEventData>> {
    const auto listener = Listeners().Find(request->set);
    if (!listener) return Fail(kInvalidArgument);
    const auto store = CurrentStore();
    if (!store) return Fail(kUninitialized);
    return listener->Wait(*store, milliseconds(request->timeoutms), request->dataSize);
  });
}

}  // namespace tessera::sim::library
