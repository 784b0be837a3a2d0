// local/child.h: runs the user's command as if it had been started without us: signals pass through, its exit code is
// ours.
#pragma once

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::local {

// What shells say of a command that is there and cannot be run, and of one that is not there.
inline constexpr int kNotRunnable = 126, kNotFound = 127;

// Holds back the signals that end a program, so that what must be undone is undone first. Make it before other threads
// start: they inherit it.
class SignalHold {
 public:
  SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
  ~SignalHold();

  const sigset_t& held() const { return held_; }
  const sigset_t& before() const { return before_; }
  // A signal that asks us to end and has not been taken yet.
  std::optional<int> Pending() const;

 private:
  sigset_t held_{}, before_{};
};

struct Command {
  std::vector<std::string> arguments;    // The first is the program, looked for in PATH.
  std::vector<std::string> environment;  // "NAME=value"
  int death_signal = SIGKILL;            // What it gets when we are killed.
  std::vector<int> inherited;            // Descriptors that it keeps open, beside the usual three.
};

// Its exit code, or 128 and the signal that ended it. Signals that are sent to us are sent on; those of the terminal it
// has got already. Errors: "CommandNotFound", "CommandNotRunnable".
Result<int> RunToEnd(Command command, const SignalHold& signals);

// What a program says that is waited for; nothing of it reaches the terminal.
inline constexpr std::size_t kMaxAnswer = std::size_t{64} << 10;
struct Answer {
  int code = 0;          // As a shell would say it.
  std::string out, err;  // Of each no more than kMaxAnswer.
};
Answer Ask(std::vector<std::string> arguments);

// Where a program is in PATH; empty when it is not there.
std::string FindProgram(const std::string& name);

}  // namespace tessera::local
