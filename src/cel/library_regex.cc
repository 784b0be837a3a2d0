// Kubernetes' regex library.
#include <limits>
#include <vector>

#include "base/text.h"
#include "cel/context.h"
#include "cel/library.h"
#include "cel/regex.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

std::string_view View(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

// Up to `limit` matches from left to right. As in Go, an empty match is not taken right after another match.
Value FindUpTo(Context& context, Arguments a, std::int64_t limit, std::vector<Value>& found) {
  const re2::RE2* regex = context.Regex(a[1].AsText());
  if (!regex->ok()) return context.Error(Format("Illegal regex: error parsing regexp: {}", regex->error()));
  const std::string_view text = a[0].AsText();
  const re2::StringPiece whole = Piece(text);
  std::size_t at = 0;
  std::size_t last_end = std::numeric_limits<std::size_t>::max();
  while (at <= text.size() && static_cast<std::int64_t>(found.size()) < limit) {
    re2::StringPiece match;
    if (!regex->Match(whole, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    if (!match.empty() || begin != last_end) found.push_back(Value::String(View(match)));
    context.arena.Require(found.size() * sizeof(Value));
    last_end = end;
    at = match.empty() ? end + OffsetOfCodePoint(text.substr(end), 1).value_or(1) : end;
  }
  return Value();
}

Value Find(Context& context, Arguments a) {
  std::vector<Value> found;
  const Value error = FindUpTo(context, a, 1, found);
  if (error.IsError()) return error;
  return found.empty() ? Value::String("") : found.front();
}

Value FindAll(Context& context, Arguments a) {
  const bool limited = a.size() == 3 && a[2].AsInt() >= 0;
  std::vector<Value> found;
  const Value error = FindUpTo(context, a, limited ? a[2].AsInt() : std::numeric_limits<std::int64_t>::max(), found);
  return error.IsError() ? error : context.List(found);
}

constexpr OverloadSpec kOverloads[]{
    {"find", Style::kMethod, "(string, string) string", Find, CostRule::kRegex},
    {"findAll", Style::kMethod, "(string, string) list<string>", FindAll, CostRule::kRegex},
    {"findAll", Style::kMethod, "(string, string, int) list<string>", FindAll, CostRule::kRegex},
};

}  // namespace

std::span<const OverloadSpec> RegexFunctions() { return kOverloads; }

}  // namespace tessera::cel
