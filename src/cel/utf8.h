// cel/utf8.h: CEL counts and cuts text by code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::cel {

constexpr std::uint32_t kReplacementCharacter = 0xFFFD;

// Cuts one code point from the front of `text`, which must not be empty. A byte that begins none is cut alone, and
// given as the replacement character.
std::uint32_t TakeCodePoint(std::string_view& text);

void AppendUtf8(std::string& text, std::uint32_t code_point);  // Must be a valid code point.
bool IsValidUtf8(std::string_view text);
std::size_t CountCodePoints(std::string_view text);
std::size_t CountUpTo(std::string_view text, std::size_t limit);  // The same, but stops at `limit`.

// Where the code point number `index` begins, in bytes; the end for index == count, nothing beyond it.
std::optional<std::size_t> OffsetOfCodePoint(std::string_view text, std::size_t index);

}  // namespace tessera::cel
