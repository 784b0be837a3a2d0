#include "kubelet/utf8.h"

#include "base/text.h"

namespace tessera::kubelet {
namespace {

bool IsContinuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// How many bytes the character at the start of `text` has; 0 when there is none. Overlong forms, surrogates and what is
// beyond U+10FFFF are excluded by the range of the second byte (Unicode, table 3-7).
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(byte(i))) return 0;
  }
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

}  // namespace

std::string ToUtf8(std::string_view text, std::size_t limit) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  // A replacement is longer than the byte it stands for, so no more than `limit` bytes of the text can be needed.
  if (limit < text.size()) text = Clip(text, limit);
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    valid += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  if (valid.size() > limit) valid.resize(Clip(valid, limit).size());
  return valid;
}

}  // namespace tessera::kubelet
