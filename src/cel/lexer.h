// cel/lexer.h: an expression's text as tokens.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cel/source.h"

namespace tessera::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,  // Reserved words too: they are allowed after a dot.
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kEscapedName,  // `a-b`
  kSymbol,       // Punctuation and operators, by their text.
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t offset = 0;
  std::string_view text;  // As written; quotes and prefixes included.

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  bool IsWord(std::string_view word) const { return kind == TokenKind::kIdentifier && text == word; }
};

// The tokens, the last of which is kEnd, or the first thing that is none. They point into `expression`.
std::expected<std::vector<Token>, Problem> Tokenize(std::string_view expression);

// What a string or bytes token stands for, or what is wrong with it.
std::expected<std::string, std::string> Unquote(const Token& token);

}  // namespace tessera::cel
