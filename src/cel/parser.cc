#include "cel/parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cel/lexer.h"
#include "cel/macros.h"
#include "cel/number_text.h"

namespace tessera::cel {
namespace {

constexpr int kMaxNesting = 250;     // cel-go's limit on expressions within each other.
constexpr int kMaxTreeDepth = 1000;  // Ours: a long chain such as a+a+a+… is a deep tree without nesting.

constexpr std::array<std::string_view, 4> kKeywords{"false", "in", "null", "true"};
constexpr std::array<std::string_view, 16> kReserved{"as",       "break",  "const",  "continue", "else", "for",
                                                     "function", "if",     "import", "let",      "loop", "namespace",
                                                     "package",  "return", "var",    "while"};
constexpr std::string_view kExpressionStarts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

bool IsKeyword(std::string_view word) { return std::ranges::find(kKeywords, word) != kKeywords.end(); }
bool IsReserved(std::string_view word) {
  return word == "void" || std::ranges::find(kReserved, word) != kReserved.end();
}

// A recursive descent over the grammar of cel-spec's langdef. Every Parse… returns kNoNode after a problem, and the
// first problem ends it all: what follows would be guesswork.
class Parser {
 public:
  Parser(std::vector<Token> tokens, const ParserOptions& options) : tokens_(std::move(tokens)), options_(options) {}

  std::expected<Ast, std::vector<Problem>> Run() {
    ast_.root = ParseExpression();
    if (ast_.root != kNoNode && Now().kind != TokenKind::kEnd) {
      Fail(Now().offset, Format("Syntax error: extraneous input '{}' expecting <EOF>", Now().text));
    }
    if (problem_) return std::unexpected(std::vector{*std::move(problem_)});
    return std::move(ast_);
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  Token Take() { return tokens_[Now().kind == TokenKind::kEnd ? at_ : at_++]; }
  bool Accept(std::string_view symbol) {
    if (!Now().Is(symbol)) return false;
    ++at_;
    return true;
  }

  NodeId Fail(std::uint32_t offset, std::string message) {
    if (!problem_) problem_ = Problem{.offset = offset, .message = std::move(message)};
    return kNoNode;
  }
  NodeId FailHere(std::string_view expecting) {
    const std::string_view found = Now().kind == TokenKind::kEnd ? "<EOF>" : Now().text;
    return Fail(Now().offset, Format("Syntax error: mismatched input '{}' expecting {}", found, expecting));
  }
  bool Expect(std::string_view symbol) {
    if (Accept(symbol)) return true;
    if (Now().kind == TokenKind::kEnd) {
      Fail(Now().offset, Format("Syntax error: missing '{}' at '<EOF>'", symbol));
      return false;
    }
    FailHere(Format("'{}'", symbol));
    return false;
  }

  NodeId Add(Node node) {
    if (problem_) return kNoNode;
    int depth = 0;
    for (const NodeId child : node.children) depth = std::max(depth, depths_[child]);
    if (++depth > kMaxTreeDepth) {
      return Fail(node.offset, Format("expression has a chain of more than {} operations", kMaxTreeDepth));
    }
    depths_.push_back(depth);
    ast_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(ast_.nodes.size() - 1);
  }
  NodeId AddConstant(std::uint32_t offset, Constant constant) {
    return Add({.kind = NodeKind::kConstant, .offset = offset, .constant = std::move(constant)});
  }
  NodeId AddCall(std::uint32_t offset, std::string_view function, std::vector<NodeId> children) {
    return Add(
        {.kind = NodeKind::kCall, .offset = offset, .name = std::string(function), .children = std::move(children)});
  }

  NodeId ParseExpression() {
    if (nesting_ == kMaxNesting) {
      return Fail(Now().offset, Format("expression recursion limit exceeded: {}", kMaxNesting));
    }
    ++nesting_;
    const NodeId node = ParseConditional();
    --nesting_;
    return node;
  }

  NodeId ParseConditional() {
    const NodeId condition = ParseLogical("||");
    if (problem_ || !Now().Is("?")) return condition;
    const std::uint32_t offset = Take().offset;
    const NodeId then = ParseLogical("||");
    if (problem_ || !Expect(":")) return kNoNode;
    const NodeId otherwise = ParseExpression();
    if (problem_) return kNoNode;
    return AddCall(offset, "_?_:_", {condition, then, otherwise});
  }

  // a || b || c is one call with three operands, and so is &&: evaluation looks at them from left to right.
  NodeId ParseLogical(std::string_view symbol) {
    const bool is_or = symbol == "||";
    const auto operand = [&] { return is_or ? ParseLogical("&&") : ParseRelation(); };
    std::vector<NodeId> operands{operand()};
    const std::uint32_t offset = Now().offset;
    while (!problem_ && Accept(symbol)) operands.push_back(operand());
    if (problem_) return kNoNode;
    return operands.size() == 1 ? operands.front() : AddCall(offset, is_or ? "_||_" : "_&&_", std::move(operands));
  }

  NodeId ParseRelation() {
    NodeId left = ParseSum();
    while (!problem_) {
      const Token op = Now();
      static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOperators{
          {{"<", "_<_"}, {"<=", "_<=_"}, {">", "_>_"}, {">=", "_>=_"}, {"==", "_==_"}, {"!=", "_!=_"}}};
      const auto* found = std::ranges::find_if(kOperators, [&](const auto& o) { return op.Is(o.first); });
      const bool is_in = op.IsWord("in");
      if (found == kOperators.end() && !is_in) return left;
      Take();
      left = Binary(left, op.offset, is_in ? "@in" : found->second, ParseSum());
    }
    return kNoNode;
  }

  NodeId ParseSum() {
    NodeId left = ParseProduct();
    while (!problem_ && (Now().Is("+") || Now().Is("-"))) {
      const Token op = Take();
      left = Binary(left, op.offset, op.text == "+" ? "_+_" : "_-_", ParseProduct());
    }
    return left;
  }

  NodeId ParseProduct() {
    NodeId left = ParseUnary();
    while (!problem_ && (Now().Is("*") || Now().Is("/") || Now().Is("%"))) {
      const Token op = Take();
      const std::string_view name = op.text == "*" ? "_*_" : op.text == "/" ? "_/_" : "_%_";
      left = Binary(left, op.offset, name, ParseUnary());
    }
    return left;
  }

  NodeId Binary(NodeId left, std::uint32_t offset, std::string_view function, NodeId right) {
    return problem_ ? kNoNode : AddCall(offset, function, {left, right});
  }

  // Pairs of ! and of - cancel each other in the grammar already. A minus before a number is part of it, also after !.
  NodeId ParseUnary() {
    const Token first = Now();
    if (!first.Is("!") && !first.Is("-")) return ParseMember();
    std::size_t count = 0;
    Token last = first;
    for (; Now().Is(first.text); ++count) last = Take();
    if (first.Is("-") && BeginsNumber(Now())) {
      if (count % 2 == 1) minus_ = last.offset;
      return ParseMember();
    }
    if (first.Is("!") && Now().Is("-") && BeginsNumber(tokens_[at_ + 1])) minus_ = Take().offset;
    const NodeId operand = ParseMember();
    if (problem_ || count % 2 == 0) return operand;
    return AddCall(first.offset, first.text == "!" ? "!_" : "-_", {operand});
  }

  static bool BeginsNumber(const Token& token) {
    return token.kind == TokenKind::kInt || token.kind == TokenKind::kDouble;
  }

  NodeId ParseMember() {
    NodeId node = ParsePrimary();
    while (!problem_) {
      const std::uint32_t offset = Now().offset;
      if (Accept(".")) {
        node = ParseSelection(node, offset);
      } else if (Accept("[")) {
        const bool optional = Accept("?");
        const NodeId index = ParseExpression();
        if (problem_ || !Expect("]")) return kNoNode;
        node = AddCall(offset, optional ? "_[?_]" : "_[_]", {node, index});
      } else {
        return node;
      }
    }
    return kNoNode;
  }

  NodeId ParseSelection(NodeId operand, std::uint32_t offset) {
    const bool optional = Accept("?");
    const auto field = TakeFieldName();
    if (!field) return kNoNode;
    if (!Now().Is("(") || optional) {
      return Add({.kind = NodeKind::kSelect,
                  .is_optional = optional,
                  .offset = offset,
                  .name = std::string(*field),
                  .children = {operand}});
    }
    const std::uint32_t call = Take().offset;
    std::vector<NodeId> children{operand};
    if (!ParseArguments(")", children)) return kNoNode;
    return AddMacroOrCall({.kind = NodeKind::kCall,
                           .is_member = true,
                           .offset = call,
                           .name = std::string(*field),
                           .children = std::move(children)});
  }

  std::optional<std::string_view> TakeFieldName() {
    if (Now().kind == TokenKind::kIdentifier && !IsKeyword(Now().text)) return Take().text;
    if (Now().kind == TokenKind::kEscapedName) {
      if (options_.escaped_names) return Now().text.substr(1, Take().text.size() - 2);
      Fail(Now().offset, "unsupported syntax: '`'");
      return std::nullopt;
    }
    FailHere("IDENTIFIER");
    return std::nullopt;
  }

  NodeId AddMacroOrCall(Node call) {
    auto expanded = ExpandMacro(std::move(call), ast_, options_);
    if (!expanded) return Fail(expanded.error().offset, std::move(expanded.error().message));
    return Add(*std::move(expanded));
  }

  // Up to the closing symbol. Arguments have no trailing comma, elements may.
  bool ParseArguments(std::string_view close, std::vector<NodeId>& out) {
    if (Accept(close)) return true;
    do out.push_back(ParseExpression());
    while (!problem_ && Accept(","));
    return !problem_ && Expect(close);
  }

  NodeId ParsePrimary() {
    const std::optional<std::uint32_t> minus = std::exchange(minus_, std::nullopt);
    const Token token = Now();
    switch (token.kind) {
      case TokenKind::kInt:
      case TokenKind::kUint:
      case TokenKind::kDouble:
        return ParseNumberLiteral(Take(), minus);
      case TokenKind::kString:
      case TokenKind::kBytes:
        return ParseText(Take());
      case TokenKind::kIdentifier:
        return ParseWord();
      default:
        break;
    }
    if (Accept("(")) {
      const NodeId inner = ParseExpression();
      return !problem_ && Expect(")") ? inner : kNoNode;
    }
    if (Accept("[")) return ParseList(token.offset);
    if (Accept("{")) return ParseMap(token.offset);
    if (token.Is(".")) return ParseWord();
    return FailHere(kExpressionStarts);
  }

  NodeId ParseNumberLiteral(const Token& token, std::optional<std::uint32_t> minus) {
    const std::uint32_t offset = minus.value_or(token.offset);
    std::string text = (minus ? "-" : "") + std::string(token.text);
    if (token.kind == TokenKind::kDouble) {
      const auto value = ParseDouble(text);
      return value ? AddConstant(offset, *value) : Fail(offset, "invalid double literal");
    }
    const std::size_t hex = text.find_first_of("xX");
    if (hex != std::string::npos) text.erase(hex - 1, 2);
    const int base = hex == std::string::npos ? 10 : 16;
    if (token.kind == TokenKind::kUint) {
      const auto value = ParseNumber<std::uint64_t>(std::string_view(text).substr(0, text.size() - 1), base);
      return value ? AddConstant(offset, *value) : Fail(offset, "invalid uint literal");
    }
    const auto value = ParseNumber<std::int64_t>(text, base);
    return value ? AddConstant(offset, *value) : Fail(offset, "invalid int literal");
  }

  NodeId ParseText(const Token& token) {
    auto text = Unquote(token);
    if (!text) return Fail(token.offset, std::move(text).error());
    if (token.kind == TokenKind::kBytes) return AddConstant(token.offset, Bytes{*std::move(text)});
    return AddConstant(token.offset, *std::move(text));
  }

  // A keyword's value, a variable, a call, or a message literal.
  NodeId ParseWord() {
    const std::uint32_t offset = Now().offset;
    const bool rooted = Accept(".");
    const Token word = Now();
    if (word.kind != TokenKind::kIdentifier) return FailHere("IDENTIFIER");
    if (!rooted && word.text == "true") return AddConstant(Take().offset, true);
    if (!rooted && word.text == "false") return AddConstant(Take().offset, false);
    if (!rooted && word.text == "null") return AddConstant(Take().offset, std::monostate());
    if (IsKeyword(word.text)) return FailHere(kExpressionStarts);
    if (const std::size_t length = MessageNameLength()) return ParseStruct(length, rooted);
    if (IsReserved(word.text)) return Fail(word.offset, Format("reserved identifier: {}", word.text));
    Take();
    if (!Now().Is("(")) {
      return Add(
          {.kind = NodeKind::kIdentifier, .is_rooted = rooted, .offset = offset, .name = std::string(word.text)});
    }
    const std::uint32_t call = Take().offset;
    std::vector<NodeId> children;
    if (!ParseArguments(")", children)) return kNoNode;
    return AddMacroOrCall(
        {.kind = NodeKind::kCall, .offset = call, .name = std::string(word.text), .children = std::move(children)});
  }

  // The number of tokens of "a.b.C" when a brace follows; otherwise 0.
  std::size_t MessageNameLength() const {
    std::size_t i = at_;
    while (tokens_[i].kind == TokenKind::kIdentifier && !IsKeyword(tokens_[i].text)) {
      if (tokens_[i + 1].Is("{")) return i + 1 - at_;
      if (!tokens_[i + 1].Is(".")) return 0;
      i += 2;
    }
    return 0;
  }

  NodeId ParseStruct(std::size_t name_tokens, bool rooted) {
    Node node{.kind = NodeKind::kStruct, .is_rooted = rooted};
    for (std::size_t i = 0; i < name_tokens; ++i) node.name += Take().text;
    node.offset = Take().offset;
    while (!Accept("}")) {
      node.optional_entries.push_back(Accept("?"));
      const auto field = TakeFieldName();
      if (!field || !Expect(":")) return kNoNode;
      node.fields.emplace_back(*field);
      node.children.push_back(ParseExpression());
      if (problem_ || (!Now().Is("}") && !Expect(","))) return kNoNode;
    }
    return Add(std::move(node));
  }

  NodeId ParseList(std::uint32_t offset) {
    Node node{.kind = NodeKind::kList, .offset = offset};
    while (!Accept("]")) {
      node.optional_entries.push_back(Accept("?"));
      node.children.push_back(ParseExpression());
      if (problem_ || (!Now().Is("]") && !Expect(","))) return kNoNode;
    }
    return AddAggregate(std::move(node));
  }

  NodeId ParseMap(std::uint32_t offset) {
    Node node{.kind = NodeKind::kMap, .offset = offset};
    while (!Accept("}")) {
      node.optional_entries.push_back(Accept("?"));
      node.children.push_back(ParseExpression());
      if (problem_ || !Expect(":")) return kNoNode;
      node.children.push_back(ParseExpression());
      if (problem_ || (!Now().Is("}") && !Expect(","))) return kNoNode;
    }
    return AddAggregate(std::move(node));
  }

  NodeId AddAggregate(Node node) {
    if (std::ranges::none_of(node.optional_entries, std::identity())) node.optional_entries.clear();
    return Add(std::move(node));
  }

  std::vector<Token> tokens_;
  const ParserOptions& options_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::optional<std::uint32_t> minus_;  // Of the number that comes next, when it has one.
  Ast ast_;
  std::vector<int> depths_;  // Of the tree below each node.
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<Ast, std::vector<Problem>> Parse(std::string_view expression, const ParserOptions& options) {
  auto tokens = Tokenize(expression);
  if (!tokens) return std::unexpected(std::vector{std::move(tokens).error()});
  return Parser(*std::move(tokens), options).Run();
}

}  // namespace tessera::cel
