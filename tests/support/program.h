// tests/support/program.h: programs of the build as real processes, with what they print in files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace tessera::tests {

struct Outcome {
  int code = -1;  // 128 + signal when one ended it.
  std::string out, err;
};

// A program that runs. Killed when it goes out of scope.
class Program {
 public:
  // `program` is one of the build, or a path. `environment` is added to ours.
  Program(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Until it prints a line, or ends without one.
  std::optional<std::string> LineOrEnd();
  // The line. Fails the test when it ends before.
  std::string WaitForLine();
  bool Ended();    // Without waiting.
  Outcome Wait();  // Until it ended.

 private:
  bool Reap(bool wait);

  const TempDir dir_ = TempDir::Create("cli-test").value();
  const std::filesystem::path out_ = dir_.path() / "out", err_ = dir_.path() / "err";
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// Runs it to its end.
Outcome RunProgram(const std::string& program, std::vector<std::string> arguments,
                   std::vector<std::string> environment = {});

}  // namespace tessera::tests
