// `make demo`'s script, with the programs of this build: what its screen promises is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "tests/cli/runtimes.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Demo, TellsTheWholeStoryOnOneScreen) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a runtime starts the hook where it cannot look for leaks; hook_test does";
#endif
  if (const auto why = WhyNot("runc")) GTEST_SKIP() << *why;
  const Outcome demo =
      RunProgram(TESSERA_SOURCE_DIR "/tools/demo", {},
                 {"BIN=" TESSERA_BINARY_DIR "/bin", "STANDIN=" TESSERA_BINARY_DIR "/bin/tessera-standin"});
  SCOPED_TRACE(demo.out);
  EXPECT_EQ(demo.code, 0) << demo.err;
  EXPECT_THAT(demo.out, Not(HasSubstr("No container can be made here")));
  EXPECT_THAT(demo.out, HasSubstr("\n/dev/nvidia4 /dev/nvidia5\nGPU 0: "));
  EXPECT_THAT(demo.out, HasSubstr("\n/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia3\n"));
  EXPECT_THAT(demo.out, HasSubstr("wants 4, 2 of 8 devices usable"));
  EXPECT_THAT(demo.out, HasSubstr("\nSmallest change:\n  ask for 2 instead of 4 in request gpus"));
  EXPECT_THAT(demo.out, HasSubstr("\n(exit code 125)\n"));
  // Two of the claim by CEL, and the one of the pod.
  const auto lines = Split(demo.out, '\n');
  EXPECT_EQ(std::ranges::count_if(lines, [](std::string_view line) { return line.starts_with("GPU "); }), 3);
  EXPECT_LE(std::ranges::count(demo.out, '\n'), 50);
}

}  // namespace
}  // namespace tessera::tests
