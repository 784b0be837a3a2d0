#include "kube/base64.h"

#include <cstdint>

namespace tessera::kube {

std::optional<std::string> DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const auto digit = kDigits.find(c);
    if (c == '=' && digits >= 2) {
      ++padding;
    } else if (digit == std::string_view::npos || padding > 0) {
      return std::nullopt;
    }
    group = group << 6U | (c == '=' ? 0U : static_cast<std::uint32_t>(digit));
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i)
      out += static_cast<char>(group >> (16U - 8U * static_cast<unsigned>(i)) & 0xFFU);
    group = 0;
    digits = 0;
    if (padding > 0) digits = 4;  // Nothing may follow.
  }
  if (padding == 0 ? digits != 0 : digits != 4) return std::nullopt;
  return out;
}

}  // namespace tessera::kube
