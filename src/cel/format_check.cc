#include "cel/format_check.h"

#include <string>

#include "base/text.h"
#include "cel/format_pattern.h"

namespace tessera::cel {
namespace {

bool IsFormatOfLiterals(const Ast& ast, const Node& node) {
  return node.kind == NodeKind::kCall && node.is_member && node.name == "format" && node.children.size() == 2 &&
         std::holds_alternative<std::string>(ast.at(node.children[0]).constant) &&
         ast.at(node.children[1]).kind == NodeKind::kList;
}

class Check {
 public:
  Check(const Ast& ast, std::span<const Type> types) : ast_(ast), types_(types) {}

  std::optional<Problem> Run(const Node& call) const {
    const auto& arguments = ast_.at(call.children[1]).children;
    FormatReader reader(std::get<std::string>(ast_.at(call.children[0]).constant));
    std::string plain;
    std::size_t used = 0;
    for (; reader.NextClause(plain); ++used) {
      if (used >= arguments.size() && !reader.AtEnd()) return At(call, Format("index {} out of range", used));
      const auto clause = reader.TakeClause();
      if (!clause) return At(call, clause.error());
      const NodeId argument = arguments[used];
      const NodeId refused = clause->verb == 's'            ? FirstUnprintable(argument)
                             : Fits(clause->verb, argument) ? kNoNode
                                                            : argument;
      if (refused != kNoNode) return At(ast_.at(refused), FormatRefusal(clause->verb, NameOf(types_[refused])));
    }
    if (used == arguments.size()) return std::nullopt;
    return At(call,
              Format("too many arguments supplied to string.format (expected {}, got {})", used, arguments.size()));
  }

 private:
  static Problem At(const Node& node, std::string message) {
    return {.offset = node.offset, .message = std::move(message)};
  }

  // Without the types inside it, as cel-go names a type here.
  static std::string_view NameOf(Type type) {
    return type->form == TypeForm::kAny ? "google.protobuf.Any" : TypeName(type->kind);
  }

  bool Fits(char verb, NodeId id) const {
    const Type type = types_[id];
    return type->form == TypeForm::kDyn || (type->form == TypeForm::kConcrete && Takes(verb, type->kind));
  }

  // %s also looks into literal lists and maps. Recursion is as deep as the tree, which the parser limits.
  NodeId FirstUnprintable(NodeId id) const {
    if (!Fits('s', id)) return id;
    const Node& node = ast_.at(id);
    if (node.kind != NodeKind::kList && node.kind != NodeKind::kMap) return kNoNode;
    for (const NodeId child : node.children) {
      if (const NodeId found = FirstUnprintable(child); found != kNoNode) return found;
    }
    return kNoNode;
  }

  const Ast& ast_;
  std::span<const Type> types_;
};

}  // namespace

std::optional<Problem> CheckFormatCall(const Ast& ast, std::span<const Type> types, const Node& node) {
  if (!IsFormatOfLiterals(ast, node)) return std::nullopt;
  return Check(ast, types).Run(node);
}

}  // namespace tessera::cel
