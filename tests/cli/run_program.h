// tests/cli/run_program.h: a program of the build as a person runs it.
#pragma once

#include <string>
#include <vector>

namespace tessera::tests {

struct Outcome {
  int code = -1;
  std::string out, err;
};

// Runs it with standard output and error in files; standard input is `input`, or nothing.
Outcome RunProgram(const std::string& program, std::vector<std::string> arguments, const std::string& input = "");

}  // namespace tessera::tests
