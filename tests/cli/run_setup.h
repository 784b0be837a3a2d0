// tests/cli/run_setup.h: what tests of `tessera run` share: a state of their own, claims, and who got what.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "tests/support/program.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {

// A claim for `count` GPUs. `selector` is a CEL expression, `match` an attribute that is the same for all; both may be
// empty.
std::string ClaimYaml(int count, std::string_view selector = {}, std::string_view match = {});

// The start of `tessera run` for a claim on a machine that several users share, whose runs meet in the file `leases`.
std::vector<std::string> RunOnMachine(const std::string& claim, const SimRoot& machine,
                                      const std::filesystem::path& leases);

// One simulated machine, as all runs of it see it.
class RunSetup {
 public:
  explicit RunSetup(std::string profile = "dgx-h100") : profile_(std::move(profile)) {}

  const std::filesystem::path& dir() const { return dir_.path(); }
  std::string Write(const std::string& name, std::string_view text) const;  // The file's path.

  // tessera run -f CLAIM … -- COMMAND, on this machine.
  std::vector<std::string> Arguments(const std::string& claim, std::vector<std::string> command,
                                     const std::string& runtime = "none") const;
  Outcome Run(const std::string& claim, std::vector<std::string> command, const std::string& runtime = "none") const;

  // The UUIDs that a command was told, comma separated, in CUDA_VISIBLE_DEVICES.
  static inline const std::vector<std::string> kTell{"sh", "-c", "echo $CUDA_VISIBLE_DEVICES"};

  // Of all full GPUs of the profile, in the order in which they are offered.
  std::vector<std::string> Uuids() const;
  bool HoldsNothing() const;  // No claim has a CDI file, and all GPUs can be had.

 private:
  const std::string profile_;
  const TempDir dir_ = TempDir::Create("run-test").value();
};

}  // namespace tessera::tests
