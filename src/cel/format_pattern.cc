#include "cel/format_pattern.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

constexpr int kMaxPrecision = 1000;  // cel-go has no limit; ours is so that a few characters cannot ask for gigabytes.

constexpr std::array kPrintable{Kind::kList,   Kind::kMap,  Kind::kInt,      Kind::kUint,
                                Kind::kDouble, Kind::kBool, Kind::kString,   Kind::kTimestamp,
                                Kind::kBytes,  Kind::kType, Kind::kDuration, Kind::kNull};
constexpr std::array kIntegers{Kind::kInt, Kind::kUint};
constexpr std::array kDoubles{Kind::kDouble, Kind::kString};
constexpr std::array kBits{Kind::kInt, Kind::kUint, Kind::kBool};
constexpr std::array kHexadecimal{Kind::kInt, Kind::kUint, Kind::kString, Kind::kBytes};

struct Verb {
  char letter;
  std::span<const Kind> kinds;
  std::string_view wants;
};

constexpr std::string_view kWantsHex = "only integers, byte buffers, and strings can be formatted as hex";

constexpr std::array kVerbs{
    Verb{'s', kPrintable,
         "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
         "timestamps"},
    Verb{'d', kIntegers, "decimal clause can only be used on integers"},
    Verb{'f', kDoubles, "fixed-point clause can only be used on doubles"},
    Verb{'e', kDoubles, "scientific clause can only be used on doubles"},
    Verb{'b', kBits, "only integers and bools can be formatted as binary"},
    Verb{'o', kIntegers, "octal clause can only be used on integers"},
    Verb{'x', kHexadecimal, kWantsHex},
    Verb{'X', kHexadecimal, kWantsHex},
};

std::unexpected<std::string> BadClause(std::string_view why) {
  return std::unexpected(Format("could not parse formatting clause: {}", why));
}

std::unexpected<std::string> BadPrecision(std::string_view why) {
  return BadClause(Format("error while parsing precision: {}", why));
}

// Cuts ".3" when it is there.
std::expected<std::optional<int>, std::string> TakePrecision(std::string_view& rest) {
  if (!rest.starts_with('.')) return std::nullopt;
  const std::size_t end = rest.find_first_not_of("0123456789", 1);
  if (end == std::string_view::npos) return BadPrecision("could not find end of precision specifier");
  const std::string_view digits = rest.substr(1, end - 1);
  const auto precision = ParseNumber<std::int64_t>(digits);
  if (!precision) {
    return BadPrecision(Format("error while converting precision to integer: strconv.Atoi: parsing \"{}\": {}", digits,
                               digits.empty() ? "invalid syntax" : "value out of range"));
  }
  if (*precision > kMaxPrecision) {
    return BadPrecision(Format("precision {} exceeds maximum allowed precision {}", *precision, kMaxPrecision));
  }
  rest.remove_prefix(end);
  return static_cast<int>(*precision);
}

}  // namespace

bool FormatReader::NextClause(std::string& plain) {
  while (!rest_.empty()) {
    const std::size_t percent = std::min(rest_.find('%'), rest_.size());
    plain.append(rest_.substr(0, percent));
    rest_.remove_prefix(percent);
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    if (!rest_.starts_with('%')) return true;
    plain.push_back('%');
    rest_.remove_prefix(1);
  }
  return false;
}

std::expected<FormatClause, std::string> FormatReader::TakeClause() {
  if (rest_.empty()) return std::unexpected("unexpected end of string");
  const auto precision = TakePrecision(rest_);
  if (!precision) return std::unexpected(precision.error());
  const char verb = rest_.front();
  if (std::ranges::find(kVerbs, verb, &Verb::letter) == kVerbs.end()) {
    std::string letter;  // cel-go takes a single byte for a character.
    AppendUtf8(letter, static_cast<unsigned char>(verb));
    return BadClause(Format("unrecognized formatting clause \"{}\"", letter));
  }
  rest_.remove_prefix(1);
  return FormatClause{.verb = verb, .precision = *precision};
}

bool Takes(char verb, Kind kind) {
  const auto found = std::ranges::find(kVerbs, verb, &Verb::letter);
  return std::ranges::find(found->kinds, kind) != found->kinds.end();
}

std::string FormatRefusal(char verb, std::string_view type) {
  return Format("error during formatting: {}, was given {}", std::ranges::find(kVerbs, verb, &Verb::letter)->wants,
                type);
}

}  // namespace tessera::cel
