// What libFuzzer calls.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                                                             std::size_t size) {
  // Copies nothing: AddressSanitizer sees a byte read beyond the input.
  tessera::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
