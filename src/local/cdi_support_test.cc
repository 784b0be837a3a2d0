#include "local/cdi_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tessera::local {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string_view name;
  Runtime runtime;
  Answer answer;
  std::string_view code;   // Empty: it serves.
  std::string_view words;  // A part of what is said.
};

TEST(CdiSupport, IsThereOrExplained) {
  const std::array cases{
      Case{"docker", Runtime::kDocker, {0, "[\"/etc/cdi\",\"/var/run/cdi\"]\n", ""}, "", ""},
      Case{"docker, CDI turned off", Runtime::kDocker, {0, "[]\n", ""}, "RuntimeWithoutCdi", "25 with \"features\""},
      Case{"a new client, an old daemon", Runtime::kDocker, {0, "null\n", ""}, "RuntimeWithoutCdi", "28.2 or newer"},
      Case{"docker, other directories", Runtime::kDocker, {0, "[\"/srv/cdi\"]", ""}, "SpecsNotPublic", "/srv/cdi, not"},
      Case{"docker 20.10 of Debian 12",
           Runtime::kDocker,
           {1, "\n", "template: :1:7: can't evaluate field CDISpecDirs in type system.info\n"},
           "RuntimeSilent",
           "28.2 or newer"},
      Case{
          "no daemon", Runtime::kDocker, {1, "null\n", "Cannot connect\n"}, "RuntimeSilent", "answer: Cannot connect;"},
      Case{"killed", Runtime::kDocker, {137, "", ""}, "RuntimeSilent", "exit code 137"},
      Case{"nerdctl", Runtime::kNerdctl, {0, "nerdctl version 2.1.0\n", ""}, "", ""},
      Case{
          "nerdctl before", Runtime::kNerdctl, {0, "nerdctl version 2.0.5\n", ""}, "RuntimeWithoutCdi", "2.1 or newer"},
      Case{"nerdctl of a commit", Runtime::kNerdctl, {0, "nerdctl version <unknown>\n", ""}, "", ""},
      Case{"ctr", Runtime::kCtr, {0, "ctr github.com/containerd/containerd/v2 v2.1.4\n", ""}, "", ""},
      Case{"ctr of Debian 12",
           Runtime::kCtr,
           {0, "ctr github.com/containerd/containerd 1.6.20~ds1\n", ""},
           "RuntimeWithoutCdi",
           "ctr 1.6 does not know"},
      Case{"ctr that fails", Runtime::kCtr, {1, "", "no\n"}, "RuntimeSilent", "try ctr --version by hand"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto judged = JudgeCdi(c.runtime, c.answer, "/var/run/cdi");
    EXPECT_EQ(judged ? "" : judged.error().code(), c.code);
    EXPECT_THAT(judged ? "" : judged.error().Text(), HasSubstr(std::string(c.words)));
  }
}

TEST(CdiSupport, IsAskedOfThoseThatMayLackIt) {
  for (const Runtime runtime : {Runtime::kDocker, Runtime::kNerdctl, Runtime::kCtr}) {
    EXPECT_EQ(CdiQuestion(runtime).front(), ToText(runtime));
  }
  for (const Runtime runtime : {Runtime::kNone, Runtime::kCrun, Runtime::kRunc, Runtime::kPodman}) {
    EXPECT_TRUE(CdiQuestion(runtime).empty()) << ToText(runtime);
  }
}

}  // namespace
}  // namespace tessera::local
