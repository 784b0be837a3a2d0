// cmd/tessera-kubelet-plugin/flags.h: flags and environment of the node plugin: the Go driver's, and a few of ours.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "driver/agent.h"

namespace tessera::cmd {

struct Flags {
  driver::AgentOptions agent;
  log::Options log;
  std::vector<std::string> warnings;  // To be logged once logging is set up.
  std::string text;                   // --help or --version: printed instead of running. Otherwise empty.
};

// docs/configuration.md lists them. An unknown flag is refused with the one that was probably meant. The access to the
// API server is found here, so that a bad kubeconfig is a usage error as well.
Result<Flags> ParseFlags(int argc, const char* const* argv);

}  // namespace tessera::cmd
