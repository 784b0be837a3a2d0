// The text that a string or bytes literal stands for.
#include <optional>

#include "base/text.h"
#include "cel/lexer.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

struct Parts {
  bool bytes = false;
  bool raw = false;
  std::string_view content;
};

Parts TakeApart(std::string_view text) {
  Parts parts;
  for (; text.front() != '"' && text.front() != '\''; text.remove_prefix(1)) {
    (text.front() == 'b' || text.front() == 'B' ? parts.bytes : parts.raw) = true;
  }
  const bool triple = text.size() >= 6 && text[1] == text[0] && text[2] == text[0];
  const std::size_t quote = triple ? 3 : 1;
  parts.content = text.substr(quote, text.size() - 2 * quote);
  return parts;
}

std::optional<char> SimpleEscape(char c) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
    case '?':
    case '"':
    case '\'':
    case '`':
      return c;
    default:
      return std::nullopt;
  }
}

// Cuts from `rest` the number of an escape whose letter is `c`: its digits, and `c` itself for octal.
std::optional<std::uint32_t> TakeNumber(char c, std::string_view& rest, bool bytes) {
  const bool octal = c >= '0' && c <= '3';
  std::size_t digits = 0;
  if (c == 'x' || c == 'X' || octal) digits = 2;
  if (c == 'u' && !bytes) digits = 4;
  if (c == 'U' && !bytes) digits = 8;
  if (digits == 0 || rest.size() < digits) return std::nullopt;
  const auto number = ParseNumber<std::uint32_t>(rest.substr(0, digits), octal ? 8 : 16);
  rest.remove_prefix(digits);
  if (!number) return std::nullopt;
  return octal ? static_cast<std::uint32_t>(c - '0') * 64 + *number : *number;
}

bool IsCodePoint(std::uint32_t c) { return c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF); }

std::expected<void, std::string> AppendEscape(std::string_view& rest, bool bytes, std::string& out) {
  const auto bad = [] { return std::unexpected(std::string("Syntax error: invalid escape sequence in literal")); };
  if (rest.empty()) return bad();
  const char c = rest.front();
  rest.remove_prefix(1);
  if (const auto simple = SimpleEscape(c)) {
    out.push_back(*simple);
    return {};
  }
  const auto number = TakeNumber(c, rest, bytes);
  if (!number || (!bytes && !IsCodePoint(*number))) return bad();
  if (bytes) {
    out.push_back(static_cast<char>(*number));
  } else {
    AppendUtf8(out, *number);
  }
  return {};
}

// Line ends of other systems count as \n, as the specification has it.
std::string NormalizeLineEnds(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out.push_back(text[i] == '\r' ? '\n' : text[i]);
  }
  return out;
}

}  // namespace

std::expected<std::string, std::string> Unquote(const Token& token) {
  const Parts parts = TakeApart(token.text);
  std::string content = NormalizeLineEnds(parts.content);
  if (!IsValidUtf8(content)) return std::unexpected("Syntax error: literal is not valid UTF-8");
  if (parts.raw) return content;
  std::string out;
  std::string_view rest = content;
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out.append(rest.substr(0, plain));
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (auto escape = AppendEscape(rest, parts.bytes, out); !escape) return std::unexpected(escape.error());
  }
  return out;
}

}  // namespace tessera::cel
