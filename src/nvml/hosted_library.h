// nvml/hosted_library.h: NVML in a child process, seen from the agent.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "nvml/blame.h"
#include "nvml/gpu_library.h"
#include "nvml/host_process.h"

namespace tessera::nvml {

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
  // One request to one host. Nothing when the host was lost but the next one can do better.
  Result<std::optional<MachineFacts>> ReadOnce(std::chrono::steady_clock::time_point deadline);
  // Waits for the host's answer. An error says how the host failed, as in "the NVML host <message>".
  Result<std::string> Await(std::chrono::steady_clock::time_point deadline);
  // Whether other GPUs, or another driver, are there than what blame_ was learnt on.
  bool ChangedShape(const MachineFacts& facts);

  const HostOptions options_;
  HostKeeper hosts_;
  Blame blame_;
  std::string shape_;  // Driver version and number of GPUs of the last read.
  // In this Read():
  bool lost_host_ = false;  // Then slow calls get no more time than others.
  bool crossed_ = false;    // An idle host left just as we asked; that happens once, not twice.
};

}  // namespace tessera::nvml
