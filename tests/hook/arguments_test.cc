// How the hook is started: arguments, state, environment.
#include <elf.h>

#include <cstring>

#include "base/text.h"
#include "tests/hook/hook_fixture.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kOneLink{"create-symlinks", "--link", "libcuda.so.1::/usr/lib/libcuda.so"};

TEST_P(HookTest, AnUnknownHookIsSkippedWithAWarning) {
  const Outcome result = Run({"hook-of-the-future", "--flag", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning"), HasSubstr("hook-of-the-future")));
  EXPECT_EQ(Tree(), "");
}

TEST_P(HookTest, BadArgumentsAreErrorsOfOneLine) {
  const std::vector<std::vector<std::string>> cases{
      {"create-symlinks", "--unknown", "x"},
      {"create-symlinks", "positional"},
      {"create-symlinks", "--link"},
      {"create-symlinks", "--link", "no separator"},
      {"create-symlinks", "--link", "a::b::c"},
      {"create-symlinks", "--link", "::b"},
      {"create-symlinks", "--link", "a::/"},
      {"update-ldcache", "--folder=relative"},
      {"update-ldcache", "--folder", "/a\n/b"},
      {"enable-cuda-compat", "--host-driver-version=1", "--cuda-compat-container-root", "x"},
      {"disable-device-node-modification", "--force"},
      {"update-application-profile", "x"},
  };
  for (const auto& arguments : cases) {
    SCOPED_TRACE(arguments.back());
    const Outcome result = Run(arguments);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("tessera-cdi-hook: " + arguments[0] + ": "), EndsWith("\n")));
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
  EXPECT_EQ(Run({}).code, 2);
  EXPECT_EQ(Tree(), "");
}

TEST_P(HookTest, TakesFlagsAsNvidiaCdiHookDoes) {
  const Outcome result = Run({"--quiet", "create-symlinks", "--link=a::/one", "--link", "b::/two"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Tree(), "one 120777 -> a\ntwo 120777 -> b");
}

TEST_P(HookTest, FindsTheRootInEveryFormOfState) {
  const std::string root_path = Quote(root().string()), bundle_path = Quote(bundle().string());
  struct Case {
    std::string name, state;
    int code;
  };
  const std::vector<Case> cases{
      {"root", Format(R"({{"root":{}}})", root_path), 0},
      {"root, and a bundle nobody can read", Format(R"({{"root":{},"bundle":"/nonexistent"}})", root_path), 0},
      {"bundle with a relative root", Format(R"({{"bundle":{},"pid":1,"status":"creating"}})", bundle_path), 0},
      {"root relative to the bundle", Format(R"({{"root":"../root","bundle":{}}})", bundle_path), 0},
      {"neither", "{}", 1},
      {"no bundle there", R"({"bundle":"/nonexistent"})", 1},
      {"the host's root", R"({"root":"/"})", 1},
      {"the host's root by another name", R"({"root":"/proc/self/root"})", 1},
      {"and another", R"({"root":"/usr/.."})", 1},
      {"empty", R"({"root":""})", 1},
      {"relative to nothing", R"({"root":"root"})", 1},
      {"a file", Format(R"({{"root":{}}})", Quote((outside() / "precious").string())), 1},
      {"of another type", R"({"root":7})", 1},
      {"no state", "", 1},
      {"no JSON", "root=/", 1},
      {"endless", std::string(2 << 20, ' '), 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(root() / "usr");
    const Outcome result = RunWith(kOneLink, c.state);
    EXPECT_EQ(result.code, c.code) << result.err;
    EXPECT_EQ(Names("/usr/lib").size(), c.code == 0 ? 1 : 0);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), c.code) << result.err;
  }
}

TEST_P(HookTest, AStateWithABrokenBundleIsRefused) {
  for (const std::string text : {R"({"root":{"path":""}})", R"({"root":{"path":"/"}})", R"({"root":{}})", "{}"}) {
    SCOPED_TRACE(text);
    const TempDir other = TempDir::Create("hook-test").value();
    ASSERT_TRUE(ReplaceFile(other.path() / "config.json", text).has_value());
    EXPECT_EQ(RunWith(kOneLink, Format(R"({{"bundle":{}}})", Quote(other.path().string()))).code, 1);
  }
}

#ifdef TESSERA_STATIC_HOOK  // Builds with sanitizers need a loader.
TEST_P(HookTest, NothingIsLoadedBecauseTheEnvironmentSaysSo) {
  const std::string program = ReadFile(TESSERA_BINARY_DIR "/bin/tessera-cdi-hook", std::size_t{64} << 20).value();
  Elf64_Ehdr header;
  std::memcpy(&header, program.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, program.data() + header.e_phoff + i * sizeof part, sizeof part);
    EXPECT_NE(part.p_type, PT_INTERP);
  }
  // A loader would complain about this one.
  const Outcome result = RunWith(kOneLink, Format(R"({{"root":{}}})", Quote(root().string())),
                                 {"LD_PRELOAD=./evil.so", "LD_AUDIT=./evil.so", "LD_LIBRARY_PATH=."});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
}
#endif

}  // namespace
}  // namespace tessera::tests
