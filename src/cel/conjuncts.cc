#include "cel/conjuncts.h"

#include <span>

#include "cel/lexer.h"

namespace tessera::cel {
namespace {

using Tokens = std::span<const Token>;

int DepthChange(const Token& token) {
  if (token.Is("(") || token.Is("[") || token.Is("{")) return 1;
  return token.Is(")") || token.Is("]") || token.Is("}") ? -1 : 0;
}

// Whether the first token opens a parenthesis that the last one closes.
bool IsWrapped(Tokens tokens) {
  if (tokens.size() < 3 || !tokens.front().Is("(") || !tokens.back().Is(")")) return false;
  int depth = 0;
  for (const Token& token : tokens.first(tokens.size() - 1)) {
    depth += DepthChange(token);
    if (depth == 0) return false;
  }
  return true;
}

std::string_view TextOf(std::string_view expression, Tokens tokens) {
  const std::size_t begin = tokens.front().offset;
  return expression.substr(begin, tokens.back().offset + tokens.back().text.size() - begin);
}

// Where "&&" stands outside of all brackets; nothing when something there binds less tightly.
std::vector<std::size_t> Joints(Tokens tokens) {
  std::vector<std::size_t> joints;
  int depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    depth += DepthChange(tokens[i]);
    if (depth != 0) continue;
    const bool chained = i > 0 && tokens[i - 1].Is(".");  // `a.?b`
    if (tokens[i].Is("||") || (tokens[i].Is("?") && !chained)) return {};
    if (tokens[i].Is("&&")) joints.push_back(i);
  }
  return joints;
}

void Collect(std::string_view expression, Tokens tokens, std::vector<std::string_view>& parts) {
  if (tokens.empty()) return;
  Tokens inner = tokens;
  while (IsWrapped(inner)) inner = inner.subspan(1, inner.size() - 2);
  std::vector<std::size_t> joints = Joints(inner);
  if (joints.empty()) return parts.push_back(TextOf(expression, tokens));
  joints.push_back(inner.size());
  std::size_t begin = 0;
  for (const std::size_t end : joints) {
    Collect(expression, inner.subspan(begin, end - begin), parts);
    begin = end + 1;
  }
}

}  // namespace

std::vector<std::string_view> Conjuncts(std::string_view expression) {
  const auto tokens = Tokenize(expression);
  if (!tokens.has_value() || tokens->size() < 2) return {expression};
  std::vector<std::string_view> parts;
  Collect(expression, Tokens(*tokens).first(tokens->size() - 1), parts);  // Without kEnd.
  return parts;
}

}  // namespace tessera::cel
