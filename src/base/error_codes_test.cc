#include "base/error_codes.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ErrorCodes, GiveTheNextStepWhereAnErrorHasNone) {
  const Error bare(ErrorKind::kTransient, "DiskFull", "no space left");
  EXPECT_EQ(WithNextStep(bare).Text(), "no space left; free space on that file system");
  const Error knows(ErrorKind::kTransient, "DiskFull", "no space left", "empty /var");
  EXPECT_EQ(WithNextStep(knows), knows);
  const Error unknown(ErrorKind::kTransient, "NoSuchCode", "x");
  EXPECT_EQ(WithNextStep(unknown), unknown);
}

TEST(ErrorCodes, OnlyFaultsOfClaimAndDeviceFailForGood) {
  struct Case {
    ErrorKind kind;
    std::string_view code;
    bool for_good;
  };
  for (const Case& c : {Case{ErrorKind::kPermanentConfig, "BadDeviceConfig", true},
                        Case{ErrorKind::kPermanentDevice, "DeviceNodeMissing", true},
                        Case{ErrorKind::kPermanentDevice, "Xid79", true},  // Health's own codes have no row.
                        Case{ErrorKind::kTransient, "DeviceInUse", false},
                        Case{ErrorKind::kPermanentConfig, "CdiWriteFailed", false},  // A disk that is read-only.
                        Case{ErrorKind::kPermanentConfig, "TlsVerify", false}}) {
    EXPECT_EQ(FailsForGood(Error(c.kind, c.code, "x")), c.for_good) << c.code;
  }
}

}  // namespace
}  // namespace tessera
