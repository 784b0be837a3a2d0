#include "base/uuid.h"

#include <array>
#include <cstdint>
#include <random>

#include "base/text.h"

namespace tessera {

std::string RandomUuid() {
  std::random_device random;
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t& word : words) word = random();
  words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;
  words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;
  return Format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffff, words[2] >> 16,
                words[2] & 0xffff, words[3]);
}

}  // namespace tessera
