#include "cel/string_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cel/format_pattern.h"
#include "cel/number_text.h"
#include "cel/quoted_text.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

using Text = std::expected<std::string, std::string>;

constexpr int kDefaultPrecision = 6;

Text Fail(std::string_view why) { return std::unexpected(Format("error during formatting: {}", why)); }

// What %s prints of a value that has no parts.
Text AsString(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kType:
      return std::string(value.AsText());
    case Kind::kBytes:
      if (IsValidUtf8(value.AsText())) return std::string(value.AsText());
      return Fail("could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string");
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
      return ForMessage(value);
    case Kind::kDouble:
      return PrintDouble(value.AsDouble());
    case Kind::kTimestamp:
      return PrintTime(value.AsTime());
    case Kind::kDuration:
      return PrintDuration(value.AsNanos());
    default:
      return std::unexpected(FormatRefusal('s', TypeName(value)));
  }
}

// %s of lists and maps: what is inside is printed as CEL would write it. Recursion is as deep as the value.
class AggregatePrinter {
 public:
  explicit AggregatePrinter(Arena& arena) : arena_(arena) {}

  Text Print(const Value& value) { return value.Is(Kind::kList) ? PrintList(value.AsList()) : PrintMap(value.AsMap()); }

 private:
  Text PrintList(std::span<const Value> items) {
    std::vector<std::string> parts;
    for (const Value& item : items) {
      auto part = PrintPart(item);
      if (!part) return part;
      parts.push_back(*std::move(part));
    }
    return "[" + Join(parts, ", ") + "]";
  }

  // Sorted by the text of the keys, so that equal maps print equally.
  Text PrintMap(const MapView& map) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::size_t i = 0; i < map.Size(); ++i) {
      const auto [key, value] = map.At(arena_, i);
      const bool has_text = key.Is(Kind::kString) || key.Is(Kind::kBool) || key.Is(Kind::kInt) || key.Is(Kind::kUint);
      if (!has_text) return Fail(Format("no formatting function for map key of type {}", TypeName(key)));
      auto key_text = PrintPart(key);
      auto value_text = PrintPart(value);
      if (!value_text) return value_text;
      entries.emplace_back(*std::move(key_text), *std::move(value_text));
    }
    std::ranges::stable_sort(entries, {}, &std::pair<std::string, std::string>::first);
    std::vector<std::string> parts;
    for (const auto& [key, value] : entries) parts.push_back(key + ":" + value);
    return "{" + Join(parts, ", ") + "}";
  }

  Text PrintPart(const Value& value) {
    arena_.Work(1);
    auto text = PrintUncounted(value);
    if (text) arena_.Require(size_ += text->size());
    return text;
  }

  Text PrintUncounted(const Value& value) {
    if (value.Is(Kind::kList) || value.Is(Kind::kMap)) return Print(value);
    if (!Takes('s', value.kind())) return Fail(Format("no formatting function for {}", TypeName(value)));
    if (value.Is(Kind::kDouble)) return PrintPartDouble(value.AsDouble());
    auto text = AsString(value);
    if (!text) return text;
    switch (value.kind()) {
      case Kind::kString:
        return QuoteAsGo(*text);
      case Kind::kBytes:
        return "b" + QuoteAsGo(*text);
      case Kind::kTimestamp:
        return Format("timestamp({})", QuoteAsGo(*text));
      case Kind::kDuration:
        return Format("duration({})", QuoteAsGo(*text));
      default:
        return text;
    }
  }

  static std::string PrintPartDouble(double value) {
    return std::isfinite(value) ? PrintFixed(value, kDefaultPrecision) : QuoteAsGo(PrintDouble(value));
  }

  Arena& arena_;
  std::size_t size_ = 0;  // Of all parts so far; those of nested ones count again, as they are copied again.
};

// English, as golang.org/x/text prints it.
std::string PrintInfinite(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "∞" : "-∞";
}

std::string WithCommas(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string PrintFixedPoint(double value, int precision) {
  if (!std::isfinite(value)) return PrintInfinite(value);
  const std::string number = PrintFixed(std::abs(value), precision);
  const std::size_t point = std::min(number.find('.'), number.size());
  return (value < 0 ? "-" : "") + WithCommas(std::string_view(number).substr(0, point)) + number.substr(point);
}

std::string Raised(std::string_view exponent) {
  constexpr std::array<std::string_view, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char c : exponent) {
    if (c == '-') out += "⁻";
    if (c >= '0' && c <= '9') out += kDigits.at(static_cast<std::size_t>(c - '0'));
  }
  return out;
}

// Always with six digits: what the user wrote as the precision reaches cel-go's printer as a width.
std::string PrintScientific(double value, int width) {
  std::string number = PrintInfinite(value);
  if (std::isfinite(value)) {
    const std::string plain = Format("{:.6e}", value == 0 ? 0.0 : value);  // Without the sign of -0.
    const auto parts = Cut(plain, "e");
    number = Format("{}×10{}", parts->first, Raised(parts->second));
  }
  const std::size_t length = CountCodePoints(number);
  const auto wanted = static_cast<std::size_t>(width);
  return std::string(wanted > length ? wanted - length : 0, ' ') + number;
}

Text AsDouble(const Value& value, const FormatClause& clause) {
  double number = 0;
  if (value.Is(Kind::kDouble)) {
    number = value.AsDouble();
  } else {
    const std::string_view text = value.AsText();
    const bool is_special = text == "NaN" || text == "Infinity" || text == "-Infinity";
    if (!is_special) return std::unexpected(FormatRefusal(clause.verb, TypeName(value)));
    number = text == "NaN" ? NAN : text == "Infinity" ? INFINITY : -INFINITY;
  }
  const int precision = clause.precision.value_or(kDefaultPrecision);
  return clause.verb == 'e' ? PrintScientific(number, precision) : PrintFixedPoint(number, precision);
}

template <class Number>
std::string InBase(Number number, char verb) {
  if (verb == 'b') return Format("{:b}", number);
  if (verb == 'o') return Format("{:o}", number);
  return verb == 'x' ? Format("{:x}", number) : Format("{:X}", number);
}

std::string AsBits(const Value& value, char verb) {
  if (value.Is(Kind::kInt)) return InBase(value.AsInt(), verb);
  if (value.Is(Kind::kUint)) return InBase(value.AsUint(), verb);
  if (value.Is(Kind::kBool)) return value.AsBool() ? "1" : "0";
  std::string out;
  for (const char c : value.AsText()) {
    const auto byte = static_cast<unsigned char>(c);
    out += verb == 'x' ? Format("{:02x}", byte) : Format("{:02X}", byte);
  }
  return out;
}

Text PrintClause(Arena& arena, const FormatClause& clause, const Value& value) {
  if (!Takes(clause.verb, value.kind())) return std::unexpected(FormatRefusal(clause.verb, TypeName(value)));
  switch (clause.verb) {
    case 's':
      if (value.Is(Kind::kList) || value.Is(Kind::kMap)) return AggregatePrinter(arena).Print(value);
      return AsString(value);
    case 'd':
      return ForMessage(value);
    case 'f':
    case 'e':
      return AsDouble(value, clause);
    default:
      return AsBits(value, clause.verb);
  }
}

}  // namespace

std::expected<std::string, std::string> FormatString(Arena& arena, std::string_view pattern,
                                                     std::span<const Value> arguments) {
  std::string out;
  FormatReader reader(pattern);
  for (std::size_t next = 0; reader.NextClause(out); ++next) {
    if (next == arguments.size()) return std::unexpected(Format("index {} out of range", next));
    const auto clause = reader.TakeClause();
    if (!clause) return std::unexpected(clause.error());
    const auto text = PrintClause(arena, *clause, arguments[next]);
    if (!text) return text;
    out += *text;
    arena.Require(out.size());
  }
  return out;
}

}  // namespace tessera::cel
