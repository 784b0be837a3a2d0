#include "cel/utf8.h"

namespace tessera::cel {
namespace {

bool IsSurrogate(std::uint32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

// The code point at the front and its length; length 0 when there is none.
struct Decoded {
  std::uint32_t code_point;
  std::size_t length;
};

Decoded Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead >= 0xF5 || text.size() < length) return {0, 0};
  std::uint32_t c = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {0, 0};
    c = (c << 6U) | (byte(i) & 0x3FU);
  }
  const std::uint32_t smallest = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (c < smallest || c > 0x10FFFF || IsSurrogate(c)) return {0, 0};
  return {c, length};
}

}  // namespace

std::uint32_t TakeCodePoint(std::string_view& text) {
  const auto [code_point, length] = Decode(text);
  text.remove_prefix(length == 0 ? 1 : length);
  return length == 0 ? kReplacementCharacter : code_point;
}

void AppendUtf8(std::string& text, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0U | (c >> 6U));
  } else {
    if (c < 0x10000) {
      put(0xE0U | (c >> 12U));
    } else {
      put(0xF0U | (c >> 18U));
      put(0x80U | ((c >> 12U) & 0x3FU));
    }
    put(0x80U | ((c >> 6U) & 0x3FU));
  }
  put(0x80U | (c & 0x3FU));
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Decode(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t CountCodePoints(std::string_view text) { return CountUpTo(text, text.size()); }

std::size_t CountUpTo(std::string_view text, std::size_t limit) {
  std::size_t count = 0;
  for (; !text.empty() && count < limit; ++count) TakeCodePoint(text);
  return count;
}

std::optional<std::size_t> OffsetOfCodePoint(std::string_view text, std::size_t index) {
  std::string_view rest = text;
  for (; index > 0 && !rest.empty(); --index) TakeCodePoint(rest);
  return index > 0 ? std::nullopt : std::optional(text.size() - rest.size());
}

}  // namespace tessera::cel
