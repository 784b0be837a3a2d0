// main() of tests that start an NVML host: the host is the test program itself, executed again.
#include <gtest/gtest.h>

#include "nvml/host.h"

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
