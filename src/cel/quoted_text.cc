#include "cel/quoted_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array kShapeless{
    Range{0x00, 0x1F},       Range{0x7F, 0xA0},        Range{0xAD, 0xAD},     Range{0x1680, 0x1680},
    Range{0x2000, 0x200F},   Range{0x2028, 0x202F},    Range{0x205F, 0x206F}, Range{0x3000, 0x3000},
    Range{0xE000, 0xF8FF},   Range{0xFEFF, 0xFEFF},    Range{0xFFF0, 0xFFFB}, Range{0xFFFE, 0xFFFF},
    Range{0xE0000, 0xE00FF}, Range{0xF0000, 0x10FFFF},
};

std::string Escaped(std::uint32_t c) {
  if (c < 0x80) return Format("\\x{:02x}", c);
  return c < 0x10000 ? Format("\\u{:04x}", c) : Format("\\U{:08x}", c);
}

}  // namespace

std::string QuoteAsGo(std::string_view text) {
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  while (!text.empty()) {
    const std::uint32_t c = TakeCodePoint(text);
    const std::size_t special = c < 0x80 ? kSpecial.find(static_cast<char>(c)) : std::string_view::npos;
    const auto holds = [c](const Range& range) { return c >= range.first && c <= range.last; };
    if (special != std::string_view::npos) {
      out.append("\\").push_back(kLetters[special]);
    } else if (std::ranges::any_of(kShapeless, holds)) {
      out += Escaped(c);
    } else {
      AppendUtf8(out, c);
    }
  }
  return out + '"';
}

}  // namespace tessera::cel
