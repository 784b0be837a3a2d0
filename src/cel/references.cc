#include "cel/references.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace tessera::cel {
namespace {

bool IsIndex(const Node& node) {
  return node.kind == NodeKind::kCall && !node.is_member && (node.name == "_[_]" || node.name == "_[?_]");
}

const std::string* ConstantKey(const Ast& ast, const Node& index) {
  return std::get_if<std::string>(&ast.at(index.children[1]).constant);
}

// The id that the node looks up in something, by selection or by a constant index.
const std::string* LookedUp(const Ast& ast, const Node& node) {
  if (node.kind == NodeKind::kSelect) return &node.name;
  return IsIndex(node) ? ConstantKey(ast, node) : nullptr;
}

std::optional<Reference> ReferenceAt(const Ast& ast, const Node& node) {
  const std::string* id = LookedUp(ast, node);
  if (id == nullptr) return std::nullopt;
  const Node& map = ast.at(node.children[0]);
  const std::string* domain = IsIndex(map) ? ConstantKey(ast, map) : nullptr;
  if (domain == nullptr) return std::nullopt;
  const Node& field = ast.at(map.children[0]);
  if (field.kind != NodeKind::kSelect || (field.name != "attributes" && field.name != "capacity")) return std::nullopt;
  const Node& device = ast.at(field.children[0]);
  if (device.kind != NodeKind::kIdentifier || device.name != "device") return std::nullopt;
  return Reference{.is_capacity = field.name == "capacity", .domain = *domain, .id = *id, .offset = node.offset};
}

}  // namespace

std::vector<Reference> FindReferences(const Ast& ast) {
  std::vector<Reference> references;
  std::vector<NodeId> open{ast.root};  // From the root: what a macro has taken apart is still among the nodes.
  while (!open.empty()) {
    const Node& node = ast.at(open.back());
    open.pop_back();
    if (auto reference = ReferenceAt(ast, node)) references.push_back(*std::move(reference));
    open.insert(open.end(), node.children.begin(), node.children.end());
  }
  std::ranges::sort(references, {}, &Reference::offset);
  return references;
}

bool Has(const DeviceFacts& device, const Reference& reference) {
  const auto is_it = [&](const auto& fact) { return fact.domain == reference.domain && fact.id == reference.id; };
  return reference.is_capacity ? std::ranges::any_of(device.capacity, is_it)
                               : std::ranges::any_of(device.attributes, is_it);
}

std::string Suggest(const DeviceFacts& device, const Reference& reference) {
  std::vector<std::string_view> ids;
  for (const AttributeFact& fact : device.attributes) {
    if (!reference.is_capacity && fact.domain == reference.domain) ids.push_back(fact.id);
  }
  for (const CapacityFact& fact : device.capacity) {
    if (reference.is_capacity && fact.domain == reference.domain) ids.push_back(fact.id);
  }
  const auto near = NearMatch(reference.id, ids);
  return near ? Format("did you mean {}?", *near) : std::string();
}

}  // namespace tessera::cel
