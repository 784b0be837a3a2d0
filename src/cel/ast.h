// cel/ast.h: an expression as a tree.
//
// Nodes lie in one vector and name each other by index, so that a deep tree is copied and freed without recursion.
// Macros are nodes of their own (kFold, kBind) and not the loops they stand for: the checker and the evaluator know
// what they mean, and cost.h what the loop would have cost.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera::cel {

using NodeId = std::uint32_t;
constexpr NodeId kNoNode = UINT32_MAX;

enum class NodeKind : std::uint8_t {
  kConstant,
  kIdentifier,  // name
  kSelect,      // children: operand; name: field
  kCall,        // children: target if is_member, then arguments; name: function, "_+_" for operators
  kList,        // children: elements
  kMap,         // children: key, value, key, value, …
  kStruct,      // children: values; fields: their names; name: the message
  kFold,        // children: range, then what the macro was given
  kBind,        // children: initial value, body; name: the variable
};

enum class Macro : std::uint8_t {
  kAll,
  kExists,
  kExistsOne,
  kMap,     // children: range, [predicate,] transform
  kFilter,  // children: range, predicate
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kSortBy,      // children: range, key
  kOptMap,      // children: optional, body
  kOptFlatMap,  // children: optional, body
};

struct Bytes {
  std::string text;
};
using Constant = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes>;

struct Node {
  NodeKind kind = NodeKind::kConstant;
  Macro macro = Macro::kAll;  // kFold
  bool test_only = false;     // kSelect: has(e.f)
  bool is_optional = false;   // kSelect: e.?f
  bool is_member = false;     // kCall: the first child is the receiver
  bool is_rooted = false;     // kIdentifier: written with a leading dot
  std::uint32_t offset = 0;   // Where in the text it is.
  Constant constant;
  std::string name;
  std::string second;  // kFold over two variables: `name` is key or index, this the value.
  std::vector<NodeId> children;
  std::vector<bool> optional_entries;  // kList, kMap, kStruct: [?e], {?k: v}; empty when none is.
  std::vector<std::string> fields;     // kStruct
};

struct Ast {
  std::vector<Node> nodes;
  NodeId root = kNoNode;

  const Node& at(NodeId id) const { return nodes[id]; }
};

}  // namespace tessera::cel
