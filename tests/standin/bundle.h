// tests/standin/bundle.h: what a container runtime makes of a claim's CDI devices: an OCI bundle.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::standin {

struct BundleOptions {
  std::filesystem::path dir;                    // Gets config.json; its rootfs/ is the container's image.
  std::vector<std::filesystem::path> cdi_dirs;  // Every *.yaml of them is read, as runtimes do.
  std::vector<std::string> devices;             // "k8s.gpu.nvidia.com/claim=…", as the kubelet passes them on.
  std::vector<std::string> command;
};

// A container that sees no device but those of the CDI specs.
Result<void> WriteBundle(const BundleOptions& options);

}  // namespace tessera::standin
