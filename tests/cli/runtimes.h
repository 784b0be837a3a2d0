// tests/cli/runtimes.h: whether container runtimes can be used where the tests run.
#pragma once

#include <optional>
#include <string>

namespace tessera::tests {

// Why tests with "crun", "runc" or "podman" cannot be run here; nothing when they can.
std::optional<std::string> WhyNot(const std::string& runtime);

// crun refuses machines that have both versions of control groups; runc takes all.
bool HasMixedCgroups();

}  // namespace tessera::tests
