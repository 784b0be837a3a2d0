#include "tests/cli/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/paths.h"

namespace tessera::tests {

Outcome RunProgram(const std::string& program, std::vector<std::string> arguments, const std::string& input) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string out = (dir.path() / "out").string();
  const std::string err = (dir.path() / "err").string();
  const std::string in = (dir.path() / "in").string();
  EXPECT_TRUE(ReplaceFile(in, input).has_value());
  const std::string path = TESSERA_BINARY_DIR "/bin/" + program;
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, path.c_str(), &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out).value(), ReadFile(err).value()};
}

}  // namespace tessera::tests
