// nvml/hosted_library.h: NVML in a child process, seen from the agent.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nvml/gpu_library.h"
#include "nvml/read.h"

namespace tessera::nvml {

struct HostOptions {
  std::vector<std::filesystem::path> driver_roots;  // Empty: DefaultDriverRoots().
  std::filesystem::path program = "/proc/self/exe";

  std::chrono::milliseconds call_deadline{5'000};        // For one NVML call …
  std::chrono::milliseconds slow_call_deadline{20'000};  // … and for those that may wake a GPU up (init, look-up).
  std::chrono::milliseconds read_deadline{60'000};       // For a whole Read(), restarts included.
  std::chrono::milliseconds idle{30'000};                // The host leaves when nobody asks for this long.
  std::chrono::minutes avoid_for{10};                    // A call that hung or crashed is tried again after this.
};

// Every call has a deadline. A host that hangs or crashes costs the one answer it was asked for: it is replaced, and
// the new one leaves out that call on that GPU (on every GPU once two were hit; the whole GPU once two of its calls
// were, or one without which it has no identity). A host that cannot be killed, because the kernel driver holds it, is
// abandoned; after a few of those no more are started.
//
// Not thread-safe. Create and use it on a thread that lives as long as the program: the kernel kills the host when the
// thread that started it ends.
class HostedLibrary final : public GpuLibrary {
 public:
  explicit HostedLibrary(HostOptions options);
  ~HostedLibrary() override;

  Result<MachineFacts> Read() override;

  // Lets go of the driver now: the host ends, and the next Read() starts another.
  void Release();

  // The host's process id, or 0 when there is none.
  int host_pid() const;

 private:
  class Host;
  struct Avoided {
    Avoid avoid;
    std::chrono::steady_clock::time_point until;
  };

  // One request to one host. Nothing when the host was lost but the next one can do better.
  Result<std::optional<MachineFacts>> ReadOnce(std::chrono::steady_clock::time_point deadline);
  // Waits for the host's answer. An error says how the host failed, as in "the NVML host <message>".
  Result<std::string> Await(std::chrono::steady_clock::time_point deadline);
  Result<void> Blame(std::uint32_t function, std::uint32_t gpu, const std::string& what);
  // Whether other GPUs, or another driver, are there than what avoided_ was learnt on.
  bool ChangedShape(const MachineFacts& facts);

  const HostOptions options_;
  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<Host>> abandoned_;  // Reaped when the kernel lets go of them.
  std::vector<Avoided> avoided_;
  std::string shape_;  // Driver version and number of GPUs of the last read.
  // In this Read():
  bool lost_host_ = false;  // Then slow calls get no more time than others.
  bool crossed_ = false;    // An idle host left just as we asked; that happens once, not twice.
};

}  // namespace tessera::nvml
