#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tessera {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return BadConfig("Odd", "3 is odd", "use 4");
  return n / 2;
}

Result<int> Quarter(int n) {
  TESSERA_ASSIGN(const int half, Half(n));
  TESSERA_TRY(Half(half));
  return half / 2;
}

TEST(Error, EarlyReturnKeepsTheError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  const auto failed = Quarter(6);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), "Odd");
}

TEST(Error, WrapSaysWhatWeWereDoing) {
  const Error error = Error(ErrorKind::kTransient, "Busy", "device busy", "wait").Wrap("preparing claim default/a");
  EXPECT_EQ(error.message(), "preparing claim default/a: device busy");
  EXPECT_EQ(error.Text(), "preparing claim default/a: device busy; wait");
  EXPECT_EQ(error.code(), "Busy");
  EXPECT_EQ(ToString(error.kind()), "transient");
}

TEST(Error, ErrnoDecidesTheKind) {
  EXPECT_EQ(FromErrno(ENOSPC, "X", "writing").error().kind(), ErrorKind::kTransient);
  const Error missing = FromErrno(ENOENT, "X", "opening /a").error();
  EXPECT_EQ(missing.kind(), ErrorKind::kPermanentConfig);
  EXPECT_EQ(missing.message(), "opening /a: No such file or directory");
}

}  // namespace
}  // namespace tessera
