#include "cel/checker.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "cel/names.h"
#include "cel/substitution.h"
#include "cel/validate.h"

namespace tessera::cel {
namespace {

struct NamedType {
  std::string_view name;
  std::string_view notation;
};

// Identifiers that stand for types.
constexpr std::array kTypeNames{
    NamedType{"bool", "bool"},
    NamedType{"bytes", "bytes"},
    NamedType{"double", "double"},
    NamedType{"google.protobuf.Duration", "duration"},
    NamedType{"google.protobuf.Timestamp", "timestamp"},
    NamedType{"int", "int"},
    NamedType{"kubernetes.NamedFormat", "Format"},
    NamedType{"kubernetes.Quantity", "Quantity"},
    NamedType{"kubernetes.Semver", "Semver"},
    NamedType{"kubernetes.URL", "URL"},
    NamedType{"list", "list<dyn>"},
    NamedType{"map", "map<dyn, dyn>"},
    NamedType{"net.CIDR", "CIDR"},
    NamedType{"net.IP", "IP"},
    NamedType{"null_type", "null"},
    NamedType{"optional_type", "optional<dyn>"},
    NamedType{"string", "string"},
    NamedType{"type", "type"},
    NamedType{"uint", "uint"},
};

constexpr std::array<std::string_view, 4> kDeviceFields{"driver", "attributes", "capacity", "allowMultipleAllocations"};

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto near = NearMatch(name, candidates);
  return near ? Format("did you mean {}?", *near) : std::string();
}

class Checker {
 public:
  Checker(const Ast& ast, std::span<const Variable> variables, const FunctionSet& functions,
          const CheckerOptions& options)
      : ast_(ast),
        variables_(variables),
        functions_(functions),
        options_(options),
        pool_(std::make_unique<TypePool>()),
        types_(*pool_),
        of_node_(ast.nodes.size(), nullptr),
        ambiguous_(ast.nodes.size(), false) {}

  std::expected<Checked, std::vector<Problem>> Run() {
    const Type result = Visit(ast_.root);
    for (Type& type : of_node_) {
      if (type != nullptr) type = types_.Resolve(type, true);
    }
    if (problems_.empty()) problems_ = Validate(ast_, of_node_, options_.homogeneous_literals);
    if (!problems_.empty()) {
      std::ranges::stable_sort(problems_, {}, &Problem::offset);
      return std::unexpected(std::move(problems_));
    }
    return Checked{.types = std::move(of_node_),
                   .ambiguous = std::move(ambiguous_),
                   .result = types_.Resolve(result, true),
                   .pool = std::move(pool_)};
  }

 private:
  struct Local {
    std::string_view name;
    Type type;
  };

  Type Report(const Node& node, std::string message, std::string hint = {}) {
    problems_.push_back({.offset = node.offset, .message = std::move(message), .hint = std::move(hint)});
    return ErrorType();
  }

  Type Visit(NodeId id) {
    const Node& node = ast_.at(id);
    const Type type = VisitKind(id, node);
    of_node_[id] = type;
    return type;
  }

  Type VisitKind(NodeId id, const Node& node) {
    switch (node.kind) {
      case NodeKind::kConstant:
        return VisitConstant(node);
      case NodeKind::kIdentifier:
        return VisitIdentifier(node);
      case NodeKind::kSelect:
        return VisitSelect(id, node);
      case NodeKind::kCall:
        return VisitCall(node);
      case NodeKind::kList:
        return VisitList(node);
      case NodeKind::kMap:
        return VisitMap(node);
      case NodeKind::kStruct:
        return Report(node, Format("undeclared reference to '{}' (in container '')", node.name));
      case NodeKind::kFold:
        return VisitFold(node);
      case NodeKind::kBind:
        return VisitBind(node);
    }
    std::unreachable();
  }

  static Type VisitConstant(const Node& node) {
    constexpr std::array kKinds{Kind::kNull,   Kind::kBool,   Kind::kInt,  Kind::kUint,
                                Kind::kDouble, Kind::kString, Kind::kBytes};
    return SimpleType(kKinds[node.constant.index()]);
  }

  Type FindLocal(std::string_view name) const {
    for (const Local& local : locals_ | std::views::reverse) {
      if (local.name == name) return local.type;
    }
    return nullptr;
  }

  // A variable of the environment or a type, by its whole name; null when there is none.
  Type FindGlobal(std::string_view name) {
    const auto variable = std::ranges::find(variables_, name, &Variable::name);
    if (variable != variables_.end()) return variable->type;
    const auto* type = std::ranges::find(kTypeNames, name, &NamedType::name);
    return type == kTypeNames.end() ? nullptr : pool_->TypeOf(ParseType(type->notation, *pool_));
  }

  Type VisitIdentifier(const Node& node) {
    const Type local = node.is_rooted ? nullptr : FindLocal(node.name);
    const Type type = local != nullptr ? local : FindGlobal(node.name);
    return type != nullptr ? type : Undeclared(node, node.name);
  }

  Type Undeclared(const Node& node, std::string_view name) {
    std::vector<std::string_view> candidates = functions_.Names();
    for (const Local& local : locals_) candidates.push_back(local.name);
    for (const Variable& variable : variables_) candidates.push_back(variable.name);
    return Report(node, Format("undeclared reference to '{}' (in container '')", name), DidYouMean(name, candidates));
  }

  bool BeginsWithLocal(NodeId id) const {
    const Node* node = &ast_.at(id);
    while (node->kind == NodeKind::kSelect) node = &ast_.at(node->children[0]);
    return node->kind == NodeKind::kIdentifier && !node->is_rooted && FindLocal(node->name) != nullptr;
  }

  Type VisitSelect(NodeId id, const Node& node) {
    if (!node.test_only && !node.is_optional && !BeginsWithLocal(id)) {
      if (const std::string name = QualifiedName(ast_, id); !name.empty()) {
        if (const Type type = FindGlobal(name)) return type;
      }
    }
    Type operand = types_.Resolve(Visit(node.children[0]));
    const bool through_optional = operand->form == TypeForm::kConcrete && operand->kind == Kind::kOptional;
    if (through_optional) operand = types_.Resolve(operand->arguments.empty() ? DynType() : operand->arguments[0]);
    const Type field = FieldOf(node, operand);
    if (node.test_only) return SimpleType(Kind::kBool);
    const bool wraps = (through_optional || node.is_optional) && field->form != TypeForm::kError;
    return wraps ? pool_->Optional(field) : field;
  }

  Type FieldOf(const Node& node, Type operand) {
    if (operand->form == TypeForm::kParameter) {
      types_.Assign(operand, DynType());
      return DynType();
    }
    if (IsDynamic(operand)) return DynType();
    if (operand->kind == Kind::kMap) return operand->arguments.empty() ? DynType() : operand->arguments[1];
    if (operand->kind == Kind::kDevice) return DeviceField(node);
    return Report(node, Format("type '{}' does not support field selection", ToString(operand)));
  }

  Type DeviceField(const Node& node) {
    if (node.name == "driver") return SimpleType(Kind::kString);
    if (node.name == "allowMultipleAllocations" && options_.allow_multiple_allocations) return SimpleType(Kind::kBool);
    if (node.name == "attributes" || node.name == "capacity") {
      const Type attribute = options_.dyn_attributes ? DynType() : AnyType();
      const Type value = node.name == "capacity" ? SimpleType(Kind::kQuantity) : attribute;
      const Type string = SimpleType(Kind::kString);
      return pool_->Map(string, pool_->Map(string, value));
    }
    const auto fields = std::span(kDeviceFields).first(options_.allow_multiple_allocations ? 4 : 3);
    return Report(node, Format("undefined field '{}'", node.name), DidYouMean(node.name, fields));
  }

  Type VisitCall(const Node& node) {
    if (const std::string function = NamespacedFunction(ast_, node, functions_); !function.empty()) {
      return Resolve(node, function, VisitAll(std::span(node.children).subspan(1)), Style::kGlobal);
    }
    const std::vector<Type> arguments = VisitAll(node.children);
    if (node.name == "_&&_" || node.name == "_||_") return VisitLogical(node, arguments);
    return Resolve(node, node.name, arguments, node.is_member ? Style::kMethod : Style::kGlobal);
  }

  Type VisitLogical(const Node& node, std::span<const Type> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) ExpectBool(node.children[i], arguments[i]);
    return SimpleType(Kind::kBool);
  }

  void ExpectBool(NodeId id, Type type) {
    if (types_.Assign(type, SimpleType(Kind::kBool))) return;
    Report(ast_.at(id), Format("expected type 'bool' but found '{}'", ToString(types_.Resolve(type, true))));
  }

  std::vector<Type> VisitAll(std::span<const NodeId> nodes) {
    std::vector<Type> types;
    for (const NodeId node : nodes) types.push_back(Visit(node));
    return types;
  }

  // The result of the overloads that take these arguments: dyn when several do and they differ.
  Type Resolve(const Node& node, std::string_view function, std::vector<Type> arguments, Style style) {
    const std::span<const Overload> overloads = functions_.Find(function);
    if (overloads.empty()) return Undeclared(node, function);
    Type result = nullptr;
    for (const Overload& overload : overloads) {
      if (overload.style != style || overload.parameters.size() != arguments.size()) continue;
      Substitution::Names names;
      std::vector<Type> parameters;
      for (const Type parameter : overload.parameters) parameters.push_back(types_.Instantiate(parameter, names));
      const Type declared = types_.Instantiate(overload.result, names);
      if (!types_.AssignAll(arguments, parameters)) continue;
      const Type resolved = types_.Resolve(declared);
      if (result != nullptr) ambiguous_[static_cast<std::size_t>(&node - ast_.nodes.data())] = true;
      if (result == nullptr) {
        result = resolved;
      } else if (!IsDynamic(result) && !SameType(result, resolved)) {
        result = DynType();
      }
    }
    return result != nullptr ? result : NoOverload(node, function, arguments, style);
  }

  Type NoOverload(const Node& node, std::string_view function, std::span<const Type> arguments, Style style) {
    std::vector<std::string> texts;
    for (const Type argument : arguments) texts.push_back(ToString(types_.Resolve(argument, true)));
    const bool method = style == Style::kMethod;
    const std::string receiver = method ? texts.front() + "." : "";
    if (method) texts.erase(texts.begin());
    return Report(
        node, Format("found no matching overload for '{}' applied to '{}({})'", function, receiver, Join(texts, ", ")));
  }

  Type Joined(Type previous, Type current) {
    if (previous == nullptr) return current;
    if (types_.Assign(previous, current)) return MoreGeneral(types_.Resolve(previous), types_.Resolve(current));
    return DynType();
  }

  // The type of an entry that may be absent is that of its content.
  Type Entry(const Node& node, NodeId id, std::size_t position) {
    const Type type = Visit(id);
    if (node.optional_entries.empty() || !node.optional_entries[position]) return type;
    const Type content = types_.Fresh();
    if (types_.Assign(type, pool_->Optional(content))) return types_.Resolve(content);
    return Report(ast_.at(id), Format("expected type 'optional_type({})' but found '{}'",
                                      ToString(types_.Resolve(type, true)), ToString(types_.Resolve(type, true))));
  }

  Type VisitList(const Node& node) {
    Type element = nullptr;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      element = Joined(element, Entry(node, node.children[i], i));
    }
    return pool_->List(element == nullptr ? types_.Fresh() : element);
  }

  Type VisitMap(const Node& node) {
    Type key = nullptr;
    Type value = nullptr;
    for (std::size_t i = 0; i < node.children.size(); i += 2) {
      key = Joined(key, Visit(node.children[i]));
      value = Joined(value, Entry(node, node.children[i + 1], i / 2));
    }
    return key == nullptr ? pool_->Map(types_.Fresh(), types_.Fresh()) : pool_->Map(key, value);
  }

  Type VisitBind(const Node& node) {
    locals_.push_back({node.name, Visit(node.children[0])});
    const Type body = Visit(node.children[1]);
    locals_.pop_back();
    return body;
  }

  // What a macro's variables are: one for a list's element or a map's key, or two for both of a pair.
  std::pair<Type, Type> VariablesOf(const Node& node, Type range) {
    const bool two = !node.second.empty();
    if (range->form == TypeForm::kParameter) types_.Assign(DynType(), range);
    if (range->form != TypeForm::kConcrete && range->form != TypeForm::kAny) return {DynType(), DynType()};
    if (range->form == TypeForm::kConcrete && range->kind == Kind::kList) {
      const Type element = range->arguments.empty() ? DynType() : range->arguments[0];
      return two ? std::pair(SimpleType(Kind::kInt), element) : std::pair(element, element);
    }
    if (range->form == TypeForm::kConcrete && range->kind == Kind::kMap) {
      if (range->arguments.empty()) return {DynType(), DynType()};
      return {range->arguments[0], range->arguments[1]};
    }
    const Type error = Report(ast_.at(node.children[0]),
                              Format("expression of type '{}' cannot be range of a comprehension (must be list, map, "
                                     "or dynamic)",
                                     ToString(range)));
    return {error, error};
  }

  Type VisitFold(const Node& node) {
    const Type range = types_.Resolve(Visit(node.children[0]));
    if (node.macro == Macro::kOptMap || node.macro == Macro::kOptFlatMap) return VisitOptionalMap(node, range);
    const auto [first, second] = VariablesOf(node, range);
    locals_.push_back({node.name, first});
    if (!node.second.empty()) locals_.push_back({node.second, second});
    const std::vector<Type> parts = VisitAll(std::span(node.children).subspan(1));
    locals_.resize(locals_.size() - (node.second.empty() ? 1 : 2));
    return FoldResult(node, first, parts);
  }

  // The checks are those of the loop that the macro stands for.
  Type FoldResult(const Node& node, Type variable, const std::vector<Type>& parts) {
    const Type boolean = SimpleType(Kind::kBool);
    const auto condition = [&](Type accumulator) {
      return Resolve(node, "_?_:_", {parts[0], accumulator, accumulator}, Style::kGlobal);
    };
    switch (node.macro) {
      case Macro::kAll:
      case Macro::kExists:
        ExpectBool(node.children[1], parts[0]);
        return boolean;
      case Macro::kExistsOne:
        return IsDynamic(condition(SimpleType(Kind::kInt))) && !IsDynamic(parts[0]) ? ErrorType() : boolean;
      case Macro::kFilter:
        return condition(pool_->List(variable));
      case Macro::kSortBy:
        return Resolve(node, "@sortByAssociatedKeys", {pool_->List(variable), pool_->List(parts[0])}, Style::kMethod);
      case Macro::kTransformMap:
        return parts.size() == 2 ? condition(pool_->Map(variable, parts[1])) : pool_->Map(variable, parts[0]);
      case Macro::kTransformMapEntry: {
        const Type map = pool_->Map(types_.Fresh(), types_.Fresh());
        if (!types_.Assign(parts.back(), map)) return NoOverload(node, "cel.@mapInsert", parts, Style::kGlobal);
        return parts.size() == 2 ? condition(types_.Resolve(map)) : types_.Resolve(map);
      }
      default:
        return parts.size() == 2 ? condition(pool_->List(parts[1])) : pool_->List(parts[0]);
    }
  }

  Type VisitOptionalMap(const Node& node, Type target) {
    const Type content = types_.Fresh();
    if (!types_.Assign(target, pool_->Optional(content))) {
      return NoOverload(node, "hasValue", std::array{target}, Style::kMethod);
    }
    locals_.push_back({node.name, types_.Resolve(content)});
    const Type body = Visit(node.children[1]);
    locals_.pop_back();
    if (node.macro == Macro::kOptMap) return pool_->Optional(body);
    const Type result = pool_->Optional(types_.Fresh());
    if (types_.Assign(body, result)) return types_.Resolve(result);
    return NoOverload(node, "_?_:_", std::array{SimpleType(Kind::kBool), body, result}, Style::kGlobal);
  }

  const Ast& ast_;
  std::span<const Variable> variables_;
  const FunctionSet& functions_;
  const CheckerOptions& options_;
  std::unique_ptr<TypePool> pool_;
  Substitution types_;
  std::vector<Type> of_node_;
  std::vector<bool> ambiguous_;
  std::vector<Local> locals_;
  std::vector<Problem> problems_;
};

}  // namespace

std::expected<Checked, std::vector<Problem>> Check(const Ast& ast, std::span<const Variable> variables,
                                                   const FunctionSet& functions, const CheckerOptions& options) {
  return Checker(ast, variables, functions, options).Run();
}

}  // namespace tessera::cel
