#include "cel/validate.h"

#include <string>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/format_check.h"
#include "cel/number_text.h"
#include "cel/regex.h"
#include "cel/substitution.h"

namespace tessera::cel {
namespace {

bool IsValidLiteral(std::string_view function, const std::string& text) {
  if (function == "matches") return CompileRegex(text)->ok();
  if (function == "duration") return ParseDuration(text).has_value();
  if (function != "timestamp") return true;
  const auto time = ParseTime(text);
  return time && IsInRange(*time);
}

class Validator {
 public:
  Validator(const Ast& ast, std::span<const Type> types) : ast_(ast), types_(types) {}

  void CheckLiterals() {
    for (const Node& node : ast_.nodes) {
      if (node.kind != NodeKind::kCall) continue;
      const bool regex = node.name == "matches" && node.children.size() == 2;
      const bool conversion = !node.is_member && node.children.size() == 1;
      if (!regex && !conversion) continue;
      const Node& argument = ast_.at(node.children.back());
      const auto* text = std::get_if<std::string>(&argument.constant);
      if (text != nullptr && !IsValidLiteral(node.name, *text)) {
        Report(argument, Format("invalid {} argument", node.name));
      }
    }
  }

  void CheckFormats() {
    for (std::size_t id = 0; id < ast_.nodes.size(); ++id) {
      if (types_[id] == nullptr) continue;  // No longer part of the tree.
      if (auto problem = CheckFormatCall(ast_, types_, ast_.nodes[id])) problems_.push_back(*std::move(problem));
    }
  }

  // The arguments of format() may be of any types. Parents come after their children, so this walks from the root down.
  void CheckMixed() {
    std::vector<bool> exempt(ast_.nodes.size(), false);
    for (std::size_t id = ast_.nodes.size(); id-- > 0;) {
      const Node& node = ast_.nodes[id];
      const bool is_format = node.kind == NodeKind::kCall && node.is_member && node.name == "format";
      if (exempt[id] || is_format) {
        for (const NodeId child : node.children) exempt[child] = true;
      }
      if (exempt[id] || types_[id] == nullptr) continue;
      if (node.kind == NodeKind::kList) CheckAlike(node, 0, 1);
      if (node.kind == NodeKind::kMap) {
        CheckAlike(node, 0, 2);
        CheckAlike(node, 1, 2);
      }
    }
  }

  std::vector<Problem> Take() { return std::move(problems_); }

 private:
  // Every `stride`th child from `first` on has the type of the first of them.
  void CheckAlike(const Node& node, std::size_t first, std::size_t stride) {
    Type wanted = nullptr;
    for (std::size_t i = first; i < node.children.size(); i += stride) {
      Type type = types_[node.children[i]];
      const bool is_value = stride == 1 || first == 1;
      const bool optional = is_value && !node.optional_entries.empty() && node.optional_entries[i / stride];
      if (optional && !type->arguments.empty()) type = type->arguments[0];
      if (wanted == nullptr) {
        wanted = type;
      } else if (!SameType(wanted, type)) {
        Report(ast_.at(node.children[i]),
               Format("expected type '{}' but found '{}'", ToString(wanted), ToString(type)));
        if (stride == 1) return;  // cel-go tells of every entry of a map, but of one element of a list.
      }
    }
  }

  void Report(const Node& node, std::string message) {
    problems_.push_back({.offset = node.offset, .message = std::move(message)});
  }

  const Ast& ast_;
  std::span<const Type> types_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> Validate(const Ast& ast, std::span<const Type> types, bool homogeneous) {
  Validator validator(ast, types);
  validator.CheckLiterals();
  validator.CheckFormats();
  if (homogeneous) validator.CheckMixed();
  return validator.Take();
}

}  // namespace tessera::cel
