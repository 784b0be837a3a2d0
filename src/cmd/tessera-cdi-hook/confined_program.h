// confined_program.h: runs one program of the host on the container's files, with nothing of the host in its reach.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cmd/tessera-cdi-hook/container_root.h"

namespace tessera::hook {

// A copy in memory of the program at `path`, sealed against every change. Refuses what would load something else when
// executed, a script or a dynamically linked program: its interpreter would be the image's.
Result<UniqueFd> SealProgram(const std::string& path);

// In new mount, PID, network, IPC and UTS namespaces, with the container's root as "/": first `prepare`, then `program`
// with `arguments` and an empty environment. An error if either fails. The program dies with this process.
Result<void> RunConfined(const ContainerRoot& root, int program, std::span<const char* const> arguments,
                         const std::function<Result<void>(const ContainerRoot&)>& prepare);

}  // namespace tessera::hook
