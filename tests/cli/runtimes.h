// tests/cli/runtimes.h: whether container runtimes can be used where the tests run.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::tests {

// Why tests with "crun", "runc" or "podman" cannot be run here; nothing when they can.
std::optional<std::string> WhyNot(const std::string& runtime);

// crun refuses machines that have both versions of control groups; runc takes all.
bool HasMixedCgroups();

inline const std::string kUnshare = "/usr/bin/unshare";  // Of util-linux, as setpriv.

// Arguments of kUnshare that run a program where only the second version is mounted. For root.
std::vector<std::string> WithUnifiedCgroups(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace tessera::tests
