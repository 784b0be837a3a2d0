// sim/store.h: the simulated machine's state, shared by every process that loaded the library.
//
// A driver root made by tessera-sim holds, below kStateDir:
//   state.json   the Machine; replaced by rename, so that a reader sees the old one or the new
//   lock         flock()ed by whoever changes anything
//   page         counters mapped by every process: readers see a change without a system call, waiters sleep on a futex
//   events       the last kMaxEvents events, one JSON object a line, oldest first, each with its sequence number
// A writer that dies leaves the old state or the new; the kernel drops its lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/machine.h"

namespace tessera::sim {

// Where the state is, below the driver root and inside a container alike. TESSERA_SIM_STATE names another directory.
inline constexpr std::string_view kStateDir = "var/lib/tessera-sim";

struct Event {
  std::uint64_t sequence = 0;  // Grows by one with each event; the store sets it.
  unsigned minor = 0;          // The GPU it happened on.
  std::uint64_t type = 0;      // One NVML event bit.
  std::uint64_t data = 0;      // The Xid for kEventXidCritical.
  std::uint32_t gpu_instance = 0xFFFFFFFF, compute_instance = 0xFFFFFFFF;
  bool operator==(const Event&) const = default;
};
template <class F>
void Describe(F& f, Event& e) {
  f.Required("sequence", e.sequence);
  f.Required("minor", e.minor);
  f.Required("type", e.type);
  f.Optional("data", e.data);
  f.Optional("gpuInstance", e.gpu_instance);
  f.Optional("computeInstance", e.compute_instance);
}
inline constexpr std::size_t kMaxEvents = 4096;

// Safe to call from any thread and any number of processes.
class Store {
 public:
  // Makes the state directory of a new driver root (or replaces what is there).
  static Result<std::unique_ptr<Store>> Create(const std::filesystem::path& root, const Machine& machine);
  // Opens an existing one. `root` is the driver root; `state_dir` overrides root/kStateDir.
  static Result<std::unique_ptr<Store>> Open(const std::filesystem::path& root,
                                             const std::filesystem::path& state_dir = {});
  ~Store();

  // The machine as it is now. Cheap while nothing changes: one look at the mapped page.
  Result<std::shared_ptr<const Machine>> Read();

  // Changes the machine under the lock: `change` gets the newest state, and when it succeeds and changed anything, the
  // result is stored, the tree below the root follows (tree.h), and all readers and waiters learn of it.
  Result<void> Update(const std::function<Result<void>(Machine&)>& change);

  // Appends an event and wakes everybody who waits for one.
  Result<void> Emit(const Event& event) { return EmitAll({&event, 1}); }
  // The same for many at once: a storm of thousands a second costs little that way.
  Result<void> EmitAll(std::span<const Event> events);

  // The sequence number of the newest event: where a new listener starts.
  std::uint64_t LastEvent() const;
  // Events after `sequence`, waiting up to `timeout` for the first. Empty on timeout, or when Update() changed the
  // machine meanwhile (so that a listener notices a lost GPU). `seen` is the Machine::generation the listener has
  // looked at; without it, only changes after this call count.
  Result<std::vector<Event>> WaitEvents(std::uint64_t sequence, std::chrono::milliseconds timeout,
                                        std::optional<std::uint64_t> seen = std::nullopt);

  const std::filesystem::path& root() const { return root_; }

 private:
  struct Impl;
  Store(std::filesystem::path root, std::unique_ptr<Impl> impl);

  const std::filesystem::path root_;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::sim
