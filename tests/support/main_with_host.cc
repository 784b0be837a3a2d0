// main() of tests that start an NVML host: the host is the test program itself, executed again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/fd.h"
#include "nvml/host.h"

namespace {

// A host that has lost its mind: answers with bytes that are no JSON, then waits to be ended.
[[noreturn]] void SendNonsense() {
  static_cast<void>(tessera::WriteAll(tessera::nvml::kHostSocket, std::string_view("\x05\0\0\0hello", 9)).has_value());
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::getenv("TESSERA_TEST_HOST") != nullptr) SendNonsense();
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
