#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

constexpr std::chrono::milliseconds kLook{5};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Program::Program(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment) {
  const std::string path = program.contains('/') ? program : TESSERA_BINARY_DIR "/bin/" + program;
  arguments.insert(arguments.begin(), program);
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  EXPECT_EQ(
      posix_spawn(&pid_, path.c_str(), &actions, nullptr, Pointers(arguments).data(), Pointers(environment).data()), 0)
      << path;
  posix_spawn_file_actions_destroy(&actions);
}

Program::~Program() {
  if (Ended()) return;
  Signal(SIGKILL);
  Reap(true);
}

void Program::Signal(int signal) const { EXPECT_EQ(::kill(pid_, signal), 0); }

bool Program::Reap(bool wait) {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, wait ? 0 : WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_.has_value();
}

bool Program::Ended() { return Reap(false); }

std::optional<std::string> Program::LineOrEnd() {
  for (;;) {
    const bool ended = Ended();
    const std::string out = ReadFile(out_).value();
    if (const auto end = out.find('\n'); end != std::string::npos) return out.substr(0, end);
    if (ended) return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
}

std::string Program::WaitForLine() {
  const auto line = LineOrEnd();
  if (!line) ADD_FAILURE() << "it ended: " << ReadFile(err_).value();
  return line.value_or("");
}

Outcome Program::Wait() {
  Reap(true);
  return {status_.value_or(-1), ReadFile(out_).value(), ReadFile(err_).value()};
}

Outcome RunProgram(const std::string& program, std::vector<std::string> arguments,
                   std::vector<std::string> environment) {
  return Program(program, std::move(arguments), std::move(environment)).Wait();
}

}  // namespace tessera::tests
