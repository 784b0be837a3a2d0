#include "inspect/table.h"

#include <gtest/gtest.h>

namespace tessera::inspect {
namespace {

TEST(Table, AlignsByCharactersNotBytes) {
  Table table({"NAME", "N"});
  table.Add({{"é×é"}, {"1"}});
  table.Add({{"abcdef"}, {"2"}});
  EXPECT_EQ(table.Print(false), "NAME     N\né×é      1\nabcdef   2\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table({"A"});
  table.Add({{"x", Tone::kBad}});
  EXPECT_EQ(table.Print(false), "A\nx\n");
  EXPECT_EQ(table.Print(true), "A\n\x1b[31mx\x1b[0m\n");
}

}  // namespace
}  // namespace tessera::inspect
