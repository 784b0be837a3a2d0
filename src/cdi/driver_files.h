// cdi/driver_files.h: the NVIDIA driver's files that a container needs, found below a driver root.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "cdi/spec.h"

namespace tessera::cdi {

// The five places of the design, each as this process sees it, and the two that the host sees differently.
struct Roots {
  std::filesystem::path driver = "/";       // --container-driver-root
  std::filesystem::path driver_host = "/";  // --nvidia-driver-root: the same as the container runtime sees it.
  std::filesystem::path dev = "/";          // Holds dev/. See DevRoot().
  std::filesystem::path dev_host = "/";
  std::filesystem::path sysfs = "/sys";
  std::filesystem::path procfs = "/proc";
};

// A driver root with a dev/ directory is its own dev root (a driver container); otherwise "/".
std::filesystem::path DevRoot(const std::filesystem::path& driver_root);

// What was found. Paths are as the container sees them: below the driver root.
struct DriverFiles {
  std::string version;                   // "570.158.01", from the caller or from the name of libcuda.so.*.
  std::vector<std::string> directories;  // That hold driver libraries.
  std::vector<std::string> libraries, binaries, firmware, configs, sockets;
  struct Link {
    std::string target, path;  // "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so"
  };
  std::vector<Link> links;
  std::vector<std::string> control_nodes;  // "/dev/nvidiactl", …

  // Where a file is below the driver root when the container sees it elsewhere: a program behind a link of Debian's
  // alternatives, a config that containers expect at one place. By the container's path.
  std::map<std::string, std::string> found_at;
  std::vector<std::string> watched;  // Directories that were searched, or would have been if they were there.

  // Changes when a file came, went or was replaced: driver upgrades under a running plugin are noticed by it.
  std::string fingerprint;
};

// `version` from NVML, or empty to find it. An error says what the root lacks.
Result<DriverFiles> FindDriverFiles(const Roots& roots, std::string version);

// A cheap look whether FindDriverFiles() would find something else now: what stat(2) says of the directories and of the
// files found, without a search.
std::string Fingerprint(const Roots& roots, const DriverFiles& files);

// The base spec: libraries, binaries, firmware, sockets, control nodes, hooks and NVIDIA_VISIBLE_DEVICES=void.
// `hook_path` is the hook program as the container runtime sees it.
Result<Spec> MakeBaseSpec(const Roots& roots, const DriverFiles& files, const std::string& hook_path);

}  // namespace tessera::cdi
