#include "cel/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace tessera::cel {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsQuote(char c) { return c == '"' || c == '\''; }

constexpr std::array<std::string_view, 6> kTwoCharacterSymbols{"==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kOneCharacterSymbols = "<>!+-*/%?:.,()[]{}";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::expected<std::vector<Token>, Problem> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipBlanks();
      const std::size_t begin = at_;
      if (begin == text_.size()) break;
      const auto kind = Next();
      if (!kind) return std::unexpected(Problem{.offset = static_cast<std::uint32_t>(begin), .message = Fault(begin)});
      tokens.push_back({*kind, static_cast<std::uint32_t>(begin), text_.substr(begin, at_ - begin)});
    }
    tokens.push_back({TokenKind::kEnd, static_cast<std::uint32_t>(text_.size()), {}});
    return tokens;
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string Fault(std::size_t begin) const {
    return Format("Syntax error: token recognition error at: '{}'", Clip(text_.substr(begin), 16));
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (std::string_view(" \t\n\r\f").contains(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  // Moves past one token.
  std::optional<TokenKind> Next() {
    const char c = Peek();
    if (const auto quoted = Quoted()) return quoted;
    if (IsLetter(c)) {
      while (IsLetter(Peek()) || IsDigit(Peek())) ++at_;
      return TokenKind::kIdentifier;
    }
    if (c == '`') return EscapedName();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    for (const std::string_view symbol : kTwoCharacterSymbols) {
      if (text_.substr(at_).starts_with(symbol)) {
        at_ += symbol.size();
        return TokenKind::kSymbol;
      }
    }
    if (!kOneCharacterSymbols.contains(c)) return std::nullopt;
    ++at_;
    return TokenKind::kSymbol;
  }

  std::optional<TokenKind> EscapedName() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos || end == at_ + 1) return std::nullopt;
    const auto allowed = [](char c) { return IsLetter(c) || IsDigit(c) || std::string_view(".-/ ").contains(c); };
    if (!std::ranges::all_of(text_.substr(at_ + 1, end - at_ - 1), allowed)) return std::nullopt;
    at_ = end + 1;
    return TokenKind::kEscapedName;
  }

  TokenKind Number() {
    if (Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X') && IsHexDigit(Peek(2))) {
      at_ += 2;
      while (IsHexDigit(Peek())) ++at_;
      return IntegerSuffix();
    }
    const auto digits = [&] {
      while (IsDigit(Peek())) ++at_;
    };
    bool is_double = false;
    digits();
    if (Peek() == '.' && IsDigit(Peek(1))) {
      is_double = true;
      ++at_;
      digits();
    }
    const std::size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if ((Peek() == 'e' || Peek() == 'E') && IsDigit(Peek(1 + sign))) {
      is_double = true;
      at_ += 1 + sign;
      digits();
    }
    return is_double ? TokenKind::kDouble : IntegerSuffix();
  }

  TokenKind IntegerSuffix() {
    if (Peek() != 'u' && Peek() != 'U') return TokenKind::kInt;
    ++at_;
    return TokenKind::kUint;
  }

  // A literal with its prefix: b, r, or b and then r, in either case.
  std::optional<TokenKind> Quoted() {
    std::size_t prefix = 0;
    const bool bytes = Peek() == 'b' || Peek() == 'B';
    if (bytes) ++prefix;
    const bool raw = Peek(prefix) == 'r' || Peek(prefix) == 'R';
    if (raw) ++prefix;
    if (!IsQuote(Peek(prefix))) return std::nullopt;
    const std::size_t begin = at_ + prefix;
    const std::string quote(1, text_[begin]);
    const std::string triple = quote + quote + quote;
    const bool multiline = text_.substr(begin).starts_with(triple);
    const std::optional<std::size_t> end = EndOfQuoted(begin, multiline ? triple : quote, raw, multiline);
    if (!end) return std::nullopt;
    at_ = *end;
    return bytes ? TokenKind::kBytes : TokenKind::kString;
  }

  std::optional<std::size_t> EndOfQuoted(std::size_t begin, std::string_view quote, bool raw, bool multiline) const {
    for (std::size_t i = begin + quote.size(); i < text_.size(); ++i) {
      if (text_.substr(i).starts_with(quote)) return i + quote.size();
      if (!multiline && (text_[i] == '\n' || text_[i] == '\r')) return std::nullopt;
      if (!raw && text_[i] == '\\') ++i;
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::expected<std::vector<Token>, Problem> Tokenize(std::string_view expression) { return Lexer(expression).Run(); }

}  // namespace tessera::cel
