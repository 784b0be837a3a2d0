// nvml/watch_session.h: one long NVML session that watches GPUs: their vitals when asked, their events as they come.
//
// Lives in the NVML host. A GPU that does not answer never keeps the others from being asked.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "nvml/caller.h"
#include "nvml/library.h"
#include "nvml/vitals.h"

namespace tessera::nvml {

class WatchSession {
 public:
  // The library must be initialised and outlive the session; so must `progress`.
  static Result<WatchSession> Open(const Library& library, std::vector<Avoid> avoid, Progress& progress);

  void SetAvoid(std::vector<Avoid> avoid) { avoid_ = std::move(avoid); }

  // All GPUs in the order of their index, also those without a UUID. GPUs that had no handle are looked up again, and
  // registered for events. An error when there is no driver any more: then the session is of no use.
  Result<MachineVitals> Read();

  // Waits for one event. kTimeout: there was none. Anything else but kSuccess may come at once again: the caller must
  // not repeat it without a pause. kAvoided: events cannot be had.
  abi::Return Wait(std::chrono::milliseconds timeout, GpuEvent& event);

  // Makes the event set anew, from the GPUs that answer: after an error of Wait() nobody knows what the old one is
  // worth.
  void RenewEvents();

 private:
  struct Gpu {
    abi::Device device = nullptr;                // None: not looked up yet, or lost.
    abi::Device named = nullptr;                 // The last handle it had: late events still carry it.
    std::string uuid, bus_id;                    // Kept when it is lost.
    std::optional<std::vector<unsigned>> links;  // None: not found out yet.
    bool registered = false;
    bool refused = false;         // Registration spoilt the set once; not tried again.
    std::vector<Gap> event_gaps;  // Why its events do not come.
  };

  WatchSession(const Api& api, std::vector<Avoid> avoid, Progress& progress)
      : api_(api), avoid_(std::move(avoid)), progress_(progress) {}

  // Makes sure that the GPU has a handle that works. What `vitals` says otherwise is all there is to say.
  void Reach(Caller& call, unsigned index, GpuVitals& vitals);
  // Gets a handle, of the GPU that was at this index before.
  void LookUp(Caller& call, unsigned index, GpuVitals& vitals);
  // What never changes, until it is known.
  void Learn(Caller& call, Gpu& gpu, GpuVitals& vitals);
  void MarkIfLost(const Caller& call, unsigned index, GpuVitals& vitals);
  void RegisterAll();
  // False when the set is spoilt.
  bool Register(unsigned index);
  std::string UuidOf(abi::Device device) const;

  const Api& api_;
  std::vector<Avoid> avoid_;
  Progress& progress_;
  std::string driver_version_;
  std::vector<Gap> gaps_;       // Of opening the session.
  std::vector<Gap> set_gaps_;   // Of the event set.
  std::vector<Gap> wait_gaps_;  // Of the last wait.
  std::vector<Gpu> gpus_;       // By index.
  abi::EventSet set_ = nullptr;
};

}  // namespace tessera::nvml
