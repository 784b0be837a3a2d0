// cdi/spec.h: CDI specs as plain data, their rules, and their text. Start here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace tessera::cdi {

struct DeviceNode {
  std::string path;
  std::string host_path;  // Only when it differs.
  std::string type;       // "c" when the runtime shall make it without a node on the host; otherwise empty.
  std::optional<std::int64_t> major, minor;
  std::optional<std::uint32_t> file_mode;  // Permission bits only.
  std::string permissions;
  std::optional<std::uint32_t> gid;

  bool operator==(const DeviceNode&) const = default;
};

struct Mount {
  std::string host_path, container_path;
  std::vector<std::string> options;

  bool operator==(const Mount&) const = default;
};

struct Hook {
  std::string name;  // "createContainer"
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;  // Never empty: a hook without one runs with the container's (CVE-2025-23266).

  bool operator==(const Hook&) const = default;
};

struct Edits {
  std::vector<std::string> env;
  std::vector<DeviceNode> device_nodes;
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
  std::vector<std::uint32_t> additional_gids;

  bool empty() const;
  bool operator==(const Edits&) const = default;
};

struct Device {
  std::string name;
  Edits edits;

  bool operator==(const Device&) const = default;
};

struct Spec {
  std::string kind;  // "k8s.gpu.nvidia.com/claim"
  std::vector<Device> devices;
  Edits edits;  // Applied once when any device of the file is used.

  bool operator==(const Spec&) const = default;
};

// What the reference parser would refuse, found before it is written: names, empty devices, duplicates, environment.
Result<void> Validate(const Spec& spec);

// The lowest version that expresses it, so that old runtimes take it: "0.3.0", "0.5.0", "0.7.0".
std::string_view MinimumVersion(const Spec& spec);

// The file's text: YAML, the same bytes for the same spec. `comment` (one line, may be empty) goes in front of it.
std::string Print(const Spec& spec, std::string_view comment = {});

// Reads a CDI file of ours, of the Go driver or of anybody else (for recovery and for applying it).
Result<Spec> Parse(std::string_view text);

// "k8s.gpu.nvidia.com/claim=<device>"
std::string QualifiedName(const Spec& spec, const Device& device);

}  // namespace tessera::cdi
