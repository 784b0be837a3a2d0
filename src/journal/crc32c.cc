#include "journal/crc32c.h"

#include <array>

namespace tessera::journal {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kReflectedPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr auto kTable = MakeTable();

}  // namespace

std::uint32_t Crc32c(std::string_view data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

}  // namespace tessera::journal
