#include "cel/string_format.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "cel/number_text.h"

namespace tessera::cel {
namespace {

using Text = std::expected<std::string, std::string>;

constexpr int kDefaultPrecision = 6;
constexpr int kMaxPrecision = 1000;  // So that a few characters cannot ask for gigabytes.

Text Fail(std::string_view clause, std::string_view wants, const Value& value) {
  return std::unexpected(Format("error during formatting: {} clause can only be used on {}, was given {}", clause,
                                wants, TypeName(value)));
}

std::string PrintNumber(double value) {
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return PrintFixed(value, -1);
}

Text AsString(Arena& arena, const Value& value);

Text ListAsString(Arena& arena, std::span<const Value> items) {
  std::vector<std::string> parts;
  std::size_t size = 0;
  for (const Value& item : items) {
    arena.Work(1);
    auto part = AsString(arena, item);
    if (!part) return part;
    size += part->size();
    arena.Require(size);
    parts.push_back(*std::move(part));
  }
  return "[" + Join(parts, ", ") + "]";
}

// Sorted by the text of the keys, so that equal maps print equally.
Text MapAsString(Arena& arena, const MapView& map) {
  std::map<std::string, std::string> entries;
  std::size_t size = 0;
  for (std::size_t i = 0; i < map.Size(); ++i) {
    const auto [key, value] = map.At(arena, i);
    auto key_text = AsString(arena, key);
    auto value_text = AsString(arena, value);
    if (!key_text) return key_text;
    if (!value_text) return value_text;
    size += key_text->size() + value_text->size();
    arena.Require(size);
    entries[*std::move(key_text)] = *std::move(value_text);
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : entries) parts.push_back(key + ": " + value);
  return "{" + Join(parts, ", ") + "}";
}

Text AsString(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return std::string(value.AsText());
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
      return ForMessage(value);
    case Kind::kDouble:
      return PrintNumber(value.AsDouble());
    case Kind::kTimestamp:
      return PrintTime(value.AsTime());
    case Kind::kDuration:
      return PrintDuration(value.AsNanos());
    case Kind::kList:
      return ListAsString(arena, value.AsList());
    case Kind::kMap:
      return MapAsString(arena, value.AsMap());
    default:
      return Fail("string", "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
                  value);
  }
}

Text AsDecimal(const Value& value) {
  if (value.Is(Kind::kInt) || value.Is(Kind::kUint)) return ForMessage(value);
  if (value.Is(Kind::kDouble)) return PrintNumber(value.AsDouble());
  return Fail("decimal", "ints, uints and doubles", value);
}

Text AsDouble(const Value& value, int precision, bool scientific) {
  if (!value.IsNumber()) return Fail(scientific ? "scientific" : "fixed-point", "doubles", value);
  const double number = value.Is(Kind::kInt)    ? static_cast<double>(value.AsInt())
                        : value.Is(Kind::kUint) ? static_cast<double>(value.AsUint())
                                                : value.AsDouble();
  if (!std::isfinite(number)) return PrintNumber(number);
  return scientific ? Format("{:.{}e}", number, precision) : PrintFixed(number, precision);
}

template <class Number>
std::string InBase(Number number, char verb) {
  if (verb == 'b') return Format("{:b}", number);
  if (verb == 'o') return Format("{:o}", number);
  return verb == 'x' ? Format("{:x}", number) : Format("{:X}", number);
}

Text AsBits(const Value& value, char verb) {
  if (value.Is(Kind::kInt)) return InBase(value.AsInt(), verb);
  if (value.Is(Kind::kUint)) return InBase(value.AsUint(), verb);
  if (verb == 'b') {
    return value.Is(Kind::kBool) ? Text(value.AsBool() ? "1" : "0") : Fail("binary", "ints, uints and bools", value);
  }
  if (verb == 'o') return Fail("octal", "ints and uints", value);
  if (!value.Is(Kind::kString) && !value.Is(Kind::kBytes)) return Fail("hex", "ints, uints, bytes and strings", value);
  std::string out;
  for (const char c : value.AsText()) {
    const auto byte = static_cast<unsigned char>(c);
    out += verb == 'x' ? Format("{:02x}", byte) : Format("{:02X}", byte);
  }
  return out;
}

Text Clause(Arena& arena, char verb, std::optional<int> precision, const Value& value) {
  switch (verb) {
    case 's':
      return AsString(arena, value);
    case 'd':
      return AsDecimal(value);
    case 'f':
    case 'e':
      return AsDouble(value, precision.value_or(kDefaultPrecision), verb == 'e');
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      return AsBits(value, verb);
    default:
      return std::unexpected(Format("could not parse formatting clause: unrecognized formatting clause \"{}\"", verb));
  }
}

// Cuts ".3" when it is there.
std::expected<std::optional<int>, std::string> TakePrecision(std::string_view& rest) {
  if (!rest.starts_with('.')) return std::nullopt;
  const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
  const auto precision = ParseNumber<int>(rest.substr(1, end - 1));
  if (!precision) return std::unexpected("error while parsing precision: error while converting precision to integer");
  if (*precision > kMaxPrecision) {
    return std::unexpected(Format("precision {} exceeds maximum allowed precision {}", *precision, kMaxPrecision));
  }
  rest.remove_prefix(end);
  return precision;
}

}  // namespace

std::expected<std::string, std::string> FormatString(Arena& arena, std::string_view pattern,
                                                     std::span<const Value> arguments) {
  std::string out;
  std::size_t next = 0;
  while (!pattern.empty()) {
    const std::size_t plain = std::min(pattern.find('%'), pattern.size());
    out.append(pattern.substr(0, plain));
    pattern.remove_prefix(plain);
    if (pattern.empty()) break;
    pattern.remove_prefix(1);
    if (pattern.starts_with('%')) {
      out.push_back('%');
      pattern.remove_prefix(1);
      continue;
    }
    const auto precision = TakePrecision(pattern);
    if (!precision) return std::unexpected(precision.error());
    if (pattern.empty()) return std::unexpected("unexpected end of string");
    if (next == arguments.size()) return std::unexpected(Format("index {} out of range", next));
    auto text = Clause(arena, pattern.front(), *precision, arguments[next++]);
    if (!text) return text;
    out += *text;
    arena.Require(out.size());
    pattern.remove_prefix(1);
  }
  return out;
}

}  // namespace tessera::cel
