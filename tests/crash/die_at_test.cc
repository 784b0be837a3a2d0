// die_at ends a process at exactly the step it was told, with exactly what a crash there would leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Settings = std::map<std::string, std::string>;

class DieAt : public ::testing::Test {
 protected:
  // The exit code of the victim, or minus the signal that ended it. Each run starts with an empty directory.
  int Run(Settings settings, std::vector<std::string> arguments = {}) {
    fs::remove_all(dir());
    fs::create_directory(dir());
    fs::remove(log());
    settings.emplace("TESSERA_DIE_DIRS", "/nowhere:" + dir().string());
    settings.emplace("TESSERA_DIE_LOG", log().string());
    // Sanitizers want to be loaded first; the library has no use for them.
    settings.emplace("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0");
    settings.emplace("LD_PRELOAD", TESSERA_BINARY_DIR "/tests/die_at.so");
    arguments.insert(arguments.begin(), "die_at_victim");
    arguments.push_back(dir().string());
    std::vector<std::string> environment;
    for (const auto& [name, value] : settings) environment.push_back(name + "=" + value);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, TESSERA_BINARY_DIR "/tests/die_at_victim", nullptr, nullptr, Pointers(arguments).data(),
                          Pointers(environment).data()),
              0);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  // The steps without their directory: "1 openat log".
  std::vector<std::string> Steps() const {
    std::vector<std::string> steps;
    const std::string text = ReadFile(log()).value_or("");
    for (const std::string_view line : Split(Trim(text), '\n')) {
      const std::vector<std::string_view> words = Split(line, ' ');
      if (words.size() == 3)
        steps.push_back(Format("{} {} {}", words[0], words[1], words[2].substr(words[2].rfind('/') + 1)));
    }
    return steps;
  }

  // The file's content, or "absent".
  std::string Content(std::string_view name) const { return ReadFile(dir() / name).value_or("absent"); }

  fs::path dir() const { return temp_.path() / "dir"; }
  fs::path log() const { return temp_.path() / "steps"; }

 private:
  static std::vector<char*> Pointers(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  TempDir temp_ = TempDir::Create("die-at").value();
};

TEST_F(DieAt, NumbersEveryStep) {
  EXPECT_EQ(Run({}), 0);
  EXPECT_THAT(Steps(), ElementsAre("1 openat log", "2 write log", "3 fdatasync log", "4 write log", "5 openat new",
                                   "6 write new", "7 fsync new", "8 renameat file"));
}

TEST_F(DieAt, LeavesWhatACrashThereWouldLeave) {
  struct Case {
    std::string_view name;
    Settings settings;
    std::string log, fresh, file;
  };
  const Case cases[] = {
      {"before the first", {{"TESSERA_DIE_AT", "1"}}, "absent", "absent", "absent"},
      {"after the first", {{"TESSERA_DIE_AT", "1"}, {"TESSERA_DIE_AFTER", "1"}}, "", "absent", "absent"},
      {"before the sync", {{"TESSERA_DIE_AT", "3"}}, "synced\n", "absent", "absent"},
      {"before the sync, power lost", {{"TESSERA_DIE_AT", "3"}, {"TESSERA_DIE_LOSE", "1"}}, "", "absent", "absent"},
      {"after the sync, power lost",
       {{"TESSERA_DIE_AT", "3"}, {"TESSERA_DIE_AFTER", "1"}, {"TESSERA_DIE_LOSE", "1"}},
       "synced\n",
       "absent",
       "absent"},
      {"torn write", {{"TESSERA_DIE_AT", "2"}, {"TESSERA_DIE_TEAR", "1"}}, "syn", "absent", "absent"},
      {"only writes tear", {{"TESSERA_DIE_AT", "3"}, {"TESSERA_DIE_TEAR", "1"}}, "synced\n", "absent", "absent"},
      {"a torn write keeps those before it",
       {{"TESSERA_DIE_AT", "4"}, {"TESSERA_DIE_TEAR", "1"}, {"TESSERA_DIE_LOSE", "1"}},
       "synced\nunsy",
       "absent",
       "absent"},
      {"before the file's sync, power lost",
       {{"TESSERA_DIE_AT", "7"}, {"TESSERA_DIE_LOSE", "1"}},
       "synced\n",
       "",
       "absent"},
      {"before the rename, power lost",
       {{"TESSERA_DIE_AT", "8"}, {"TESSERA_DIE_LOSE", "1"}},
       "synced\n",
       "content\n",
       "absent"},
      {"after the rename, power lost",
       {{"TESSERA_DIE_AT", "8"}, {"TESSERA_DIE_AFTER", "1"}, {"TESSERA_DIE_LOSE", "1"}},
       "synced\n",
       "absent",
       "content\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Run(c.settings), -SIGKILL);
    EXPECT_EQ(Content("log"), c.log);
    EXPECT_EQ(Content("new"), c.fresh);
    EXPECT_EQ(Content("file"), c.file);
  }
}

TEST_F(DieAt, FailsTheCallsItIsToldTo) {
  struct Case {
    std::string rules;
    int code;
    std::string log;
  };
  const Case cases[] = {
      {"write:ENOSPC", ENOSPC, ""},
      {"write:ENOSPC:2", ENOSPC, "synced\n"},
      {"openat:EROFS", EROFS, "absent"},
      {"open:EROFS:2", EROFS, "synced\nunsynced\n"},
      {"sync:EIO", EIO, "synced\n"},
      {"mkdir:EIO,rename:EACCES", EACCES, "synced\nunsynced\n"},
      {"pwrite:EIO", 0, "synced\nunsynced\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rules);
    EXPECT_EQ(Run({{"TESSERA_FAIL_CALL", c.rules}}), c.code);
    EXPECT_EQ(Content("log"), c.log);
  }
}

TEST_F(DieAt, FailuresCanBeSwitchedByAFile) {
  const fs::path when = dir().parent_path() / "full";
  const Settings settings{{"TESSERA_FAIL_CALL", "write:ENOSPC"}, {"TESSERA_FAIL_WHEN", when.string()}};
  EXPECT_EQ(Run(settings), 0);
  ASSERT_TRUE(ReplaceFile(when, "").has_value());
  EXPECT_EQ(Run(settings), ENOSPC);
}

TEST_F(DieAt, CountsOnlyTheProgramMeant) {
  EXPECT_EQ(Run({{"TESSERA_DIE_AT", "1"}, {"TESSERA_DIE_EXE", "die_at_victim"}}), -SIGKILL);
  EXPECT_EQ(Run({{"TESSERA_DIE_AT", "1"}, {"TESSERA_DIE_EXE", "another"}}), 0);
  EXPECT_EQ(Run({{"TESSERA_DIE_AT", "1"}}, {"--nvml-host"}), 0) << "hosts of NVML are another program in disguise";
  EXPECT_EQ(Run({{"TESSERA_DIE_AT", "1"}, {"TESSERA_DIE_DIRS", "/nowhere"}}), 0);
  EXPECT_THAT(Steps(), IsEmpty());
}

}  // namespace
}  // namespace tessera
