// cel-go's strings extension, version 2. Positions count code points.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/context.h"
#include "cel/library.h"
#include "cel/string_format.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

Value OutOfRange(Context& context, std::int64_t index) {
  return context.Error(Format("index out of range: {}", index));
}

// The byte where code point `index` begins; the end counts as one.
std::optional<std::size_t> OffsetOf(std::string_view text, std::int64_t index) {
  return index < 0 ? std::nullopt : OffsetOfCodePoint(text, static_cast<std::size_t>(index));
}

Value CharAt(Context& context, Arguments a) {
  const std::string_view text = a[0].AsText();
  const auto begin = OffsetOf(text, a[1].AsInt());
  if (!begin) return OutOfRange(context, a[1].AsInt());
  if (*begin == text.size()) return Value::String("");
  const std::string_view rest = text.substr(*begin);
  return Value::String(rest.substr(0, *OffsetOfCodePoint(rest, 1)));
}

// cel-go takes the position after an empty text on trust, and finds nothing beyond the end.
Value IndexOf(Context& context, Arguments a) {
  const std::string_view text = a[0].AsText();
  const std::int64_t from = a.size() == 3 ? a[2].AsInt() : 0;
  if (a[1].AsText().empty()) return Value::Int(from);
  if (from < 0) return OutOfRange(context, from);
  const auto begin = OffsetOf(text, from);
  const std::size_t found = begin ? text.find(a[1].AsText(), *begin) : std::string_view::npos;
  return found == std::string_view::npos ? Value::Int(-1) : Value::Size(CountCodePoints(text.substr(0, found)));
}

Value LastIndexOf(Context& context, Arguments a) {
  const std::string_view text = a[0].AsText();
  const auto size = static_cast<std::int64_t>(CountCodePoints(text));
  if (a[1].AsText().empty()) return a.size() == 3 ? a[2] : Value::Int(size);
  const std::int64_t from = a.size() == 3 ? a[2].AsInt() : std::max<std::int64_t>(size - 1, 0);
  if (from < 0) return OutOfRange(context, from);
  const std::size_t found = from < size ? text.rfind(a[1].AsText(), *OffsetOf(text, from)) : std::string_view::npos;
  return found == std::string_view::npos ? Value::Int(-1) : Value::Size(CountCodePoints(text.substr(0, found)));
}

Value MapAscii(Context& context, std::string_view text, char first, char last, int shift) {
  std::string mapped(text);
  for (char& c : mapped) {
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
  }
  return context.Text(mapped);
}
Value LowerAscii(Context& context, Arguments a) { return MapAscii(context, a[0].AsText(), 'A', 'Z', 'a' - 'A'); }
Value UpperAscii(Context& context, Arguments a) { return MapAscii(context, a[0].AsText(), 'a', 'z', 'A' - 'a'); }

// An empty text to replace matches before each code point and at the end.
Value Replace(Context& context, Arguments a) {
  std::string_view rest = a[0].AsText();
  const std::string_view old = a[1].AsText();
  std::int64_t left = a.size() == 4 ? a[3].AsInt() : -1;
  std::string out;
  const auto step = [&] {
    const std::size_t skip = old.empty() ? OffsetOfCodePoint(rest, 1).value_or(rest.size()) : rest.find(old);
    return std::min(skip, rest.size());
  };
  if (old.empty()) {
    for (; left != 0; --left) {
      out += a[2].AsText();
      context.arena.Require(out.size());
      if (rest.empty()) break;
      const std::size_t skip = step();
      out += rest.substr(0, skip);
      rest.remove_prefix(skip);
    }
    return context.Text(out += rest);
  }
  for (; left != 0 && rest.contains(old); --left) {
    const std::size_t skip = step();
    out.append(rest.substr(0, skip)).append(a[2].AsText());
    context.arena.Require(out.size());
    rest.remove_prefix(skip + old.size());
  }
  return context.Text(out += rest);
}

Value SplitText(Context& context, Arguments a) {
  std::string_view rest = a[0].AsText();
  const std::string_view separator = a[1].AsText();
  const std::int64_t limit = a.size() == 3 ? a[2].AsInt() : -1;
  std::vector<Value> parts;
  const auto more = [&] { return limit < 0 || static_cast<std::int64_t>(parts.size()) + 1 < limit; };
  if (limit == 0) return Value::List({});
  while (more()) {
    const std::size_t end = separator.empty() ? OffsetOfCodePoint(rest, 1).value_or(rest.size()) : rest.find(separator);
    if (end == std::string_view::npos || (separator.empty() && end >= rest.size())) break;
    parts.push_back(Value::String(rest.substr(0, end)));
    context.arena.Require(parts.size() * sizeof(Value));
    rest.remove_prefix(end + separator.size());
  }
  if (!separator.empty() || !rest.empty()) parts.push_back(Value::String(rest));
  return context.List(parts);
}

Value Substring(Context& context, Arguments a) {
  const std::string_view text = a[0].AsText();
  const auto begin = OffsetOf(text, a[1].AsInt());
  if (a.size() == 3 && a[1].AsInt() > a[2].AsInt()) {
    return context.Error(Format("invalid substring range. start: {}, end: {}", a[1].AsInt(), a[2].AsInt()));
  }
  if (!begin) return OutOfRange(context, a[1].AsInt());
  const auto end = a.size() == 3 ? OffsetOf(text, a[2].AsInt()) : text.size();
  return end ? Value::String(text.substr(*begin, *end - *begin)) : OutOfRange(context, a[2].AsInt());
}

bool IsSpace(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Value TrimText(Context& /*context*/, Arguments a) {
  std::string_view rest = a[0].AsText();
  const char* begin = nullptr;
  const char* end = nullptr;
  while (!rest.empty()) {
    const char* at = rest.data();
    if (IsSpace(TakeCodePoint(rest))) continue;
    if (begin == nullptr) begin = at;
    end = rest.data();
  }
  return Value::String(begin == nullptr ? std::string_view() : std::string_view(begin, end));
}

Value JoinTexts(Context& context, Arguments a) {
  std::string out;
  const auto items = a[0].AsList();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].Is(Kind::kString)) return context.Error(Format("join: invalid input: {}", ForMessage(items[i])));
    if (i > 0 && a.size() == 2) out += a[1].AsText();
    out += items[i].AsText();
    context.arena.Require(out.size());
  }
  return context.Text(out);
}

Value QuoteText(Context& context, Arguments a) {
  std::string out = "\"";
  std::string_view rest = a[0].AsText();
  while (!rest.empty()) {
    const std::uint32_t c = TakeCodePoint(rest);
    constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetters = "abfnrtv\\\"";
    const std::size_t special = c < 0x80 ? kSpecial.find(static_cast<char>(c)) : std::string_view::npos;
    if (special == std::string_view::npos) {
      AppendUtf8(out, c);
    } else {
      out.append("\\").push_back(kLetters[special]);
    }
  }
  return context.Text(out + '"');
}

Value FormatText(Context& context, Arguments a) {
  auto text = FormatString(context.arena, a[0].AsText(), a[1].AsList());
  return text ? context.Text(*text) : context.Error(text.error());
}

constexpr auto kMethod = Style::kMethod;

constexpr OverloadSpec kOverloads[]{
    {"charAt", kMethod, "(string, int) string", CharAt},
    {"indexOf", kMethod, "(string, string) int", IndexOf, CostRule::kAllElements},
    {"indexOf", kMethod, "(string, string, int) int", IndexOf, CostRule::kAllElements},
    {"lastIndexOf", kMethod, "(string, string) int", LastIndexOf, CostRule::kAllElements},
    {"lastIndexOf", kMethod, "(string, string, int) int", LastIndexOf, CostRule::kAllElements},
    {"lowerAscii", kMethod, "(string) string", LowerAscii, CostRule::kTraverse},
    {"upperAscii", kMethod, "(string) string", UpperAscii, CostRule::kTraverse},
    {"replace", kMethod, "(string, string, string) string", Replace, CostRule::kTraverseTwice},
    {"replace", kMethod, "(string, string, string, int) string", Replace, CostRule::kTraverseTwice},
    {"split", kMethod, "(string, string) list<string>", SplitText, CostRule::kTraverseTwice},
    {"split", kMethod, "(string, string, int) list<string>", SplitText, CostRule::kTraverseTwice},
    {"substring", kMethod, "(string, int) string", Substring, CostRule::kTraverse},
    {"substring", kMethod, "(string, int, int) string", Substring, CostRule::kTraverse},
    {"trim", kMethod, "(string) string", TrimText, CostRule::kTraverse},
    {"join", kMethod, "(list<string>) string", JoinTexts, CostRule::kBuildResult},
    {"join", kMethod, "(list<string>, string) string", JoinTexts, CostRule::kBuildResult},
    {"format", kMethod, "(string, list<dyn>) string", FormatText, CostRule::kTraverse},
    {"strings.quote", Style::kGlobal, "(string) string", QuoteText, CostRule::kTraverse},
};

}  // namespace

std::span<const OverloadSpec> StringFunctions() { return kOverloads; }

}  // namespace tessera::cel
