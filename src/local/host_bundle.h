// local/host_bundle.h: an OCI bundle whose container is this machine, with only some of its devices.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cdi/driver_files.h"
#include "cdi/spec.h"

namespace tessera::local {

struct HostBundle {
  std::filesystem::path directory;  // Gets config.json, and rootfs/ for the runtime's mounts. Must not exist.
  std::vector<cdi::Spec> specs;     // All their devices are given.
  cdi::Roots roots;                 // Of the driver; a /dev of its own is emptied as well.
  std::vector<std::string> command, environment;
  std::filesystem::path working_directory;
  uid_t user = 0;
  gid_t group = 0;  // No further groups: only root's could be mapped.
};

// Every directory of this machine is there, as it is and with the same rights, except /dev, which holds the usual nodes
// and those of the specs. Of the specs only nodes and environment count: the driver's files are this machine's own. There
// are no other namespaces: processes, network and host name are this machine's.
Result<void> WriteHostBundle(const HostBundle& bundle);

// `environment` such that programs find a driver that is not installed in "/".
void ShowDriver(const std::vector<cdi::Spec>& specs, const cdi::Roots& roots, std::vector<std::string>& environment);

// Puts NAME=value in place of what is there.
void SetVariable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

}  // namespace tessera::local
