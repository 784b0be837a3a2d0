#include "cel/macros.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tessera::cel {
namespace {

enum class Needs : std::uint8_t { kNothing, kTwoVariables, kSortBy };

// A macro that is a method of what it goes through: so many variables, then so many expressions.
struct Form {
  std::string_view name;
  Macro macro;
  std::size_t variables;
  std::size_t expressions;
  Needs needs = Needs::kNothing;
};

constexpr std::array kForms{
    Form{"all", Macro::kAll, 1, 1},
    Form{"exists", Macro::kExists, 1, 1},
    Form{"exists_one", Macro::kExistsOne, 1, 1},
    Form{"map", Macro::kMap, 1, 1},
    Form{"map", Macro::kMap, 1, 2},
    Form{"filter", Macro::kFilter, 1, 1},
    Form{"all", Macro::kAll, 2, 1, Needs::kTwoVariables},
    Form{"exists", Macro::kExists, 2, 1, Needs::kTwoVariables},
    Form{"exists_one", Macro::kExistsOne, 2, 1, Needs::kTwoVariables},
    Form{"existsOne", Macro::kExistsOne, 2, 1, Needs::kTwoVariables},
    Form{"transformList", Macro::kTransformList, 2, 1, Needs::kTwoVariables},
    Form{"transformList", Macro::kTransformList, 2, 2, Needs::kTwoVariables},
    Form{"transformMap", Macro::kTransformMap, 2, 1, Needs::kTwoVariables},
    Form{"transformMap", Macro::kTransformMap, 2, 2, Needs::kTwoVariables},
    Form{"transformMapEntry", Macro::kTransformMapEntry, 2, 1, Needs::kTwoVariables},
    Form{"transformMapEntry", Macro::kTransformMapEntry, 2, 2, Needs::kTwoVariables},
    Form{"sortBy", Macro::kSortBy, 1, 1, Needs::kSortBy},
    Form{"optMap", Macro::kOptMap, 1, 1},
    Form{"optFlatMap", Macro::kOptFlatMap, 1, 1},
};

const Form* FindForm(const Node& call, const ParserOptions& options) {
  const auto fits = [&](const Form& form) {
    const bool enabled = form.needs == Needs::kNothing ||
                         (form.needs == Needs::kTwoVariables ? options.two_variable_macros : options.sort_by);
    return enabled && form.name == call.name && call.children.size() == 1 + form.variables + form.expressions;
  };
  const auto* found = std::ranges::find_if(kForms, fits);
  return found == kForms.end() ? nullptr : found;
}

std::optional<std::string> VariableName(const Ast& ast, NodeId id) {
  const Node& node = ast.at(id);
  if (node.kind != NodeKind::kIdentifier || node.is_rooted) return std::nullopt;
  return node.name;
}

Problem NotAName(const Ast& ast, NodeId id) {
  return {.offset = ast.at(id).offset, .message = "argument must be a simple name"};
}

std::expected<Node, Problem> ExpandFold(Node call, const Form& form, const Ast& ast) {
  Node fold{.kind = NodeKind::kFold, .macro = form.macro, .offset = call.offset, .children = {call.children[0]}};
  for (std::size_t i = 1; i <= form.variables; ++i) {
    auto name = VariableName(ast, call.children[i]);
    if (!name) return std::unexpected(NotAName(ast, call.children[i]));
    (i == 1 ? fold.name : fold.second) = *std::move(name);
  }
  if (fold.name == fold.second) {
    return std::unexpected(Problem{.offset = ast.at(call.children[2]).offset,
                                   .message = Format("duplicate variable name: {}", fold.name)});
  }
  fold.children.insert(fold.children.end(), call.children.begin() + 1 + static_cast<std::ptrdiff_t>(form.variables),
                       call.children.end());
  return fold;
}

std::expected<Node, Problem> ExpandHas(Node call, const Ast& ast) {
  Node select = ast.at(call.children[0]);
  if (select.kind != NodeKind::kSelect || select.is_optional || select.test_only) {
    return std::unexpected(Problem{.offset = select.offset, .message = "invalid argument to has() macro"});
  }
  select.test_only = true;
  select.offset = call.offset;
  return select;
}

bool IsCelBind(const Node& call, const Ast& ast) {
  return call.is_member && call.name == "bind" && call.children.size() == 4 &&
         VariableName(ast, call.children[0]) == "cel";
}

std::expected<Node, Problem> ExpandBind(Node call, const Ast& ast) {
  auto name = VariableName(ast, call.children[1]);
  if (!name) {
    return std::unexpected(Problem{.offset = ast.at(call.children[1]).offset,
                                   .message = "cel.bind() variable names must be simple identifiers"});
  }
  return Node{.kind = NodeKind::kBind,
              .offset = call.offset,
              .name = *std::move(name),
              .children = {call.children[2], call.children[3]}};
}

}  // namespace

std::expected<Node, Problem> ExpandMacro(Node call, const Ast& ast, const ParserOptions& options) {
  if (!call.is_member) {
    return call.name == "has" && call.children.size() == 1 ? ExpandHas(std::move(call), ast) : std::move(call);
  }
  if (IsCelBind(call, ast)) return ExpandBind(std::move(call), ast);
  const Form* form = FindForm(call, options);
  return form == nullptr ? std::move(call) : ExpandFold(std::move(call), *form, ast);
}

}  // namespace tessera::cel
