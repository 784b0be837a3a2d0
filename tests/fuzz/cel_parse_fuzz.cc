// CEL's lexer and parser: any text becomes a tree or problems that point into it.
#include "cel/lexer.h"
#include "cel/parser.h"
#include "cel/references.h"
#include "cel/source.h"
#include "tests/fuzz/target.h"

namespace tessera {
namespace {

void CheckTokens(std::string_view expression) {
  const auto tokens = cel::Tokenize(expression);
  if (!tokens) return;
  std::size_t end = 0;
  for (const cel::Token& token : *tokens) {
    Require(token.offset >= end, "tokens follow each other");
    end = token.offset + token.text.size();
    Require(end <= expression.size(), "and lie in the text");
    if (token.kind == cel::TokenKind::kString) (void)cel::Unquote(token);
  }
}

void CheckTree(const cel::Ast& ast, std::string_view expression) {
  for (const cel::Node& node : ast.nodes) {
    Require(node.offset <= expression.size(), "a node has its place in the text");
    for (const cel::NodeId child : node.children) Require(child < ast.nodes.size(), "children exist");
  }
  (void)cel::FindReferences(ast);
}

}  // namespace

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto flags = static_cast<unsigned char>(input.front());
  const std::string_view expression = input.substr(1);
  CheckTokens(expression);
  const auto ast = cel::Parse(
      expression,
      {.two_variable_macros = (flags & 1U) == 0, .sort_by = (flags & 2U) == 0, .escaped_names = (flags & 4U) == 0});
  if (ast) return CheckTree(*ast, expression);
  Require(!ast.error().empty(), "a refusal has a reason");
  Require(!cel::Render(expression, ast.error()).empty(), "that can be shown");
}

}  // namespace tessera
