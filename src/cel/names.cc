#include "cel/names.h"

#include <ranges>
#include <string_view>
#include <vector>

namespace tessera::cel {

std::string QualifiedName(const Ast& ast, NodeId id) {
  std::vector<std::string_view> parts;
  for (const Node* node = &ast.at(id);; node = &ast.at(node->children[0])) {
    parts.push_back(node->name);
    if (node->kind == NodeKind::kIdentifier) break;
    if (node->kind != NodeKind::kSelect || node->test_only || node->is_optional) return {};
  }
  std::string name(parts.back());
  parts.pop_back();
  for (const std::string_view part : parts | std::views::reverse) name.append(".").append(part);
  return name;
}

std::string NamespacedFunction(const Ast& ast, const Node& call, const FunctionSet& functions) {
  if (!call.is_member) return {};
  std::string name = QualifiedName(ast, call.children[0]);
  if (name.empty()) return {};
  name.append(".").append(call.name);
  return functions.Has(name) ? name : std::string();
}

}  // namespace tessera::cel
