// nvml/gpu_library.h: the seam between us and NVIDIA's library. Start here.
#pragma once

#include "base/error.h"
#include "nvml/facts.h"

namespace tessera::nvml {

// NVML in a child process (HostedLibrary), a recording of a real machine, or a fake in a test.
class GpuLibrary {
 public:
  virtual ~GpuLibrary() = default;

  // All GPUs as they are now. An error means that nothing could be read at all; a GPU that does not answer is in the
  // result with gaps that say so.
  virtual Result<MachineFacts> Read() = 0;
};

// Answers what it was given.
class FixedLibrary final : public GpuLibrary {
 public:
  explicit FixedLibrary(MachineFacts facts) : facts_(std::move(facts)) {}
  Result<MachineFacts> Read() override { return facts_; }
  void Set(MachineFacts facts) { facts_ = std::move(facts); }

 private:
  MachineFacts facts_;
};

}  // namespace tessera::nvml
