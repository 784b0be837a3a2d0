// nvml/host.h: the child process that holds NVML, so that its memory, threads, hangs and crashes stay out of the agent.
//
// It is the same program, executed again with one argument; main() of every program that uses HostedLibrary starts with
//   if (const auto code = nvml::RunHostIfAsked(argc, argv)) return *code;
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tessera::nvml {

// Descriptors the host finds open.
inline constexpr int kHostSocket = 3;
inline constexpr int kHostPage = 4;  // Holds a Progress.

// The arguments that make a program start as a host: who its parent is, and how long to live without a request.
std::vector<std::string> HostArguments(int parent_pid, std::chrono::milliseconds idle);

// Serves requests until the socket closes, nobody asks for `idle`, or the parent dies; then the exit code. Nothing when
// the arguments do not ask for a host.
std::optional<int> RunHostIfAsked(int argc, char** argv);

}  // namespace tessera::nvml
