#include "cel/generator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "cel/cost.h"
#include "cel/evaluator.h"
#include "cel/names.h"

namespace tessera::cel {
namespace {

constexpr std::uint64_t kFoldingCostLimit = 10'000;  // What costs more is left for run time.

struct Operator {
  std::string_view name;
  Code code;
};

constexpr std::array kOperators{
    Operator{"_&&_", Code::kAnd},
    Operator{"_||_", Code::kOr},
    Operator{"!_", Code::kNot},
    Operator{"_?_:_", Code::kConditional},
    Operator{"_==_", Code::kEqual},
    Operator{"_!=_", Code::kNotEqual},
    Operator{"_<_", Code::kLess},
    Operator{"_<=_", Code::kLessOrEqual},
    Operator{"_>_", Code::kGreater},
    Operator{"_>=_", Code::kGreaterOrEqual},
    Operator{"@in", Code::kIn},
    Operator{"_+_", Code::kAdd},
    Operator{"_-_", Code::kSubtract},
    Operator{"_*_", Code::kMultiply},
    Operator{"_/_", Code::kDivide},
    Operator{"_%_", Code::kModulo},
    Operator{"-_", Code::kNegate},
    Operator{"_[_]", Code::kIndex},
    Operator{"_[?_]", Code::kOptionalIndex},
};

// Names that stand for a type when no variable has them.
constexpr std::array<std::string_view, 19> kTypeNames{"bool",
                                                      "bytes",
                                                      "double",
                                                      "google.protobuf.Duration",
                                                      "google.protobuf.Timestamp",
                                                      "int",
                                                      "kubernetes.NamedFormat",
                                                      "kubernetes.Quantity",
                                                      "kubernetes.Semver",
                                                      "kubernetes.URL",
                                                      "list",
                                                      "map",
                                                      "net.CIDR",
                                                      "net.IP",
                                                      "null_type",
                                                      "optional_type",
                                                      "string",
                                                      "type",
                                                      "uint"};

constexpr std::array<std::string_view, 10> kConversions{"bool", "bytes",  "double",    "duration", "dyn",
                                                        "int",  "string", "timestamp", "type",     "uint"};

bool IsAttributeCode(Code code) {
  switch (code) {
    case Code::kVariable:
    case Code::kSelect:
    case Code::kOptionalSelect:
    case Code::kIndex:
    case Code::kOptionalIndex:
    case Code::kDeviceAttribute:
    case Code::kDeviceCapacity:
      return true;
    default:
      return false;
  }
}

bool CanFold(Code code) {
  switch (code) {
    case Code::kConstant:
    case Code::kFail:
    case Code::kVariable:
    case Code::kDeviceAttribute:
    case Code::kDeviceCapacity:
    case Code::kFold:
    case Code::kBind:
      return false;
    default:
      return true;
  }
}

class Generator {
 public:
  Generator(const Ast& ast, const Checked* checked, std::span<const Variable> variables, const FunctionSet& functions)
      : ast_(ast), checked_(checked), variables_(variables), functions_(functions) {
    program_.slots = next_slot_ = static_cast<std::uint32_t>(variables.size());
  }

  Program Run() {
    program_.root = Emit(ast_.root);
    return std::move(program_);
  }

 private:
  struct Local {
    std::string_view name;
    std::uint32_t slot;
  };

  StepId Emit(NodeId id) {
    const Node& node = ast_.at(id);
    switch (node.kind) {
      case NodeKind::kConstant:
        return EmitConstant(node);
      case NodeKind::kIdentifier:
        return EmitIdentifier(id, node);
      case NodeKind::kSelect:
        return EmitSelect(id, node);
      case NodeKind::kCall:
        return EmitCall(node);
      case NodeKind::kList:
      case NodeKind::kMap:
        return EmitAggregate(node);
      case NodeKind::kStruct:
        return Fail(node, Format("unknown type: {}", node.name));
      case NodeKind::kFold:
        return EmitFold(node);
      case NodeKind::kBind:
        return EmitBind(node);
    }
    std::unreachable();
  }

  StepId Add(const Step& step) {
    program_.steps.push_back(step);
    return static_cast<StepId>(program_.steps.size() - 1);
  }

  StepId AddWithOperands(Step step, std::span<const StepId> operands) {
    step.first = static_cast<std::uint32_t>(program_.operands.size());
    step.count = static_cast<std::uint32_t>(operands.size());
    program_.operands.insert(program_.operands.end(), operands.begin(), operands.end());
    return Folded(Add(step));
  }

  std::uint32_t Constant(const Value& value) {
    program_.constants.push_back(value);
    return static_cast<std::uint32_t>(program_.constants.size() - 1);
  }
  Value Text(std::string_view text) { return Value::String(program_.memory->Copy(text)); }

  StepId AddConstant(const Node& node, const Value& value) {
    literals_.push_back(Add({.code = Code::kConstant, .data = Constant(value), .offset = node.offset}));
    return literals_.back();
  }
  StepId Fail(const Node& node, std::string_view message) {
    return Add({.code = Code::kFail, .data = Constant(Text(message)), .offset = node.offset});
  }

  // Does the step now when all it needs is there. An error is left for run time: it may never be reached.
  StepId Folded(StepId id) {
    const Step& step = program_.steps[id];
    const auto operands = program_.OperandsOf(step);
    const auto is_constant = [&](StepId o) { return program_.steps[o].code == Code::kConstant; };
    if (!CanFold(step.code) || !std::ranges::all_of(operands, is_constant)) return id;
    const Outcome outcome = EvaluateStep(program_, id, *program_.memory, kFoldingCostLimit);
    // What cel-go computes beforehand as well is free.
    const bool literal = ComputedByCelGo(step) && std::ranges::all_of(operands, [&](StepId o) { return IsLiteral(o); });
    if (outcome.value.IsError()) {
      if (literal && step.code == Code::kCall && program_.fault.empty()) program_.fault = outcome.value.AsText();
      return id;
    }
    const StepId folded = Add({.code = Code::kConstant,
                               .cost = literal ? 0 : static_cast<std::uint32_t>(outcome.cost),
                               .data = Constant(outcome.value),
                               .offset = step.offset});
    if (literal) literals_.push_back(folded);
    if (IsAttribute(id)) folded_attributes_.push_back(folded);
    return folded;
  }

  bool ComputedByCelGo(const Step& step) const {
    if (step.code == Code::kList || step.code == Code::kMap) return true;
    return step.code == Code::kCall && step.count == 1 &&
           std::ranges::find(kConversions, program_.calls[step.data].name) != kConversions.end();
  }
  bool IsAttribute(StepId id) const {
    return IsAttributeCode(program_.steps[id].code) || std::ranges::binary_search(folded_attributes_, id);
  }
  bool IsLiteral(StepId id) const { return std::ranges::binary_search(literals_, id); }

  // cel-go looks up an attribute that is a branch of ?: or the key of an index without the cost of its first step.
  void MakeFirstStepFree(StepId id) {
    Step* step = &program_.steps[id];
    if (!IsAttribute(id)) return;
    while (step->code != Code::kConstant && step->code != Code::kVariable && step->code != Code::kDeviceAttribute &&
           step->code != Code::kDeviceCapacity &&
           IsAttributeCode(program_.steps[program_.operands[step->first]].code)) {
      step = &program_.steps[program_.operands[step->first]];
    }
    step->cost -= std::min<std::uint32_t>(step->cost, kSelectCost);
  }

  StepId EmitConstant(const Node& node) {
    const auto to_value = [&](const auto& constant) -> Value {
      using T = std::decay_t<decltype(constant)>;
      if constexpr (std::is_same_v<T, bool>) {
        return Value::Bool(constant);
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return Value::Int(constant);
      } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        return Value::Uint(constant);
      } else if constexpr (std::is_same_v<T, double>) {
        return Value::Double(constant);
      } else if constexpr (std::is_same_v<T, std::string>) {
        return Text(constant);
      } else if constexpr (std::is_same_v<T, Bytes>) {
        return Value::Bytes(program_.memory->Copy(constant.text));
      } else {
        return Value();
      }
    };
    return AddConstant(node, std::visit(to_value, node.constant));
  }

  const Local* FindLocal(std::string_view name) const {
    for (const Local& local : locals_ | std::views::reverse) {
      if (local.name == name) return &local;
    }
    return nullptr;
  }

  // A variable of the environment, or a type, by its whole name.
  std::optional<StepId> EmitGlobal(std::string_view name, const Node& node) {
    const auto found = std::ranges::find(variables_, name, &Variable::name);
    if (found != variables_.end()) {
      return Add({.code = Code::kVariable,
                  .cost = kSelectCost,
                  .data = static_cast<std::uint32_t>(found - variables_.begin()),
                  .offset = node.offset});
    }
    const auto* type = std::ranges::find(kTypeNames, name);
    if (type == kTypeNames.end()) return std::nullopt;
    return AddConstant(node, Value::Type(*type));
  }

  StepId EmitIdentifier(NodeId id, const Node& node) {
    if (const Local* local = node.is_rooted ? nullptr : FindLocal(node.name)) {
      return Add({.code = Code::kVariable, .cost = kSelectCost, .data = local->slot, .offset = node.offset});
    }
    if (const auto global = EmitGlobal(QualifiedName(ast_, id), node)) return *global;
    return Fail(node, Format("undeclared reference to '{}' (in container '')", node.name));
  }

  // Whether the chain of selections below begins with a variable of a macro: then it is no dotted name.
  bool BeginsWithLocal(NodeId id) const {
    const Node* node = &ast_.at(id);
    while (node->kind == NodeKind::kSelect) node = &ast_.at(node->children[0]);
    return node->kind == NodeKind::kIdentifier && !node->is_rooted && FindLocal(node->name) != nullptr;
  }

  StepId EmitSelect(NodeId id, const Node& node) {
    if (!node.test_only && !node.is_optional && !BeginsWithLocal(id)) {
      if (const std::string name = QualifiedName(ast_, id); !name.empty()) {
        if (const auto global = EmitGlobal(name, node)) return *global;
      }
    }
    const NodeId operand_node = node.children[0];
    if (const auto path = EmitDevicePath(node, operand_node, node.name)) return *path;
    const StepId operand = Emit(operand_node);
    const Code code = node.test_only ? Code::kHas : node.is_optional ? Code::kOptionalSelect : Code::kSelect;
    return AddWithOperands(
        {.code = code, .cost = FirstStepCost(operand), .data = Constant(Text(node.name)), .offset = node.offset},
        std::array{operand});
  }

  // device.attributes["domain"].id as one step that makes no maps.
  std::optional<StepId> EmitDevicePath(const Node& node, NodeId operand, std::string_view id) {
    const Node& index = ast_.at(operand);
    if (node.test_only || node.is_optional || index.kind != NodeKind::kCall || index.name != "_[_]")
      return std::nullopt;
    const Node& field = ast_.at(index.children[0]);
    const auto* domain = std::get_if<std::string>(&ast_.at(index.children[1]).constant);
    if (domain == nullptr || field.kind != NodeKind::kSelect || field.test_only || field.is_optional)
      return std::nullopt;
    if (field.name != "attributes" && field.name != "capacity") return std::nullopt;
    const auto slot = DeviceSlot(field.children[0]);
    if (!slot) return std::nullopt;
    const std::uint32_t data = Constant(Text(*domain));
    Constant(Text(id));
    return Add({.code = field.name == "attributes" ? Code::kDeviceAttribute : Code::kDeviceCapacity,
                .cost = 4 * kSelectCost,
                .first = *slot,
                .data = data,
                .offset = node.offset});
  }

  std::optional<std::uint32_t> DeviceSlot(NodeId id) const {
    const Node& node = ast_.at(id);
    if (node.kind != NodeKind::kIdentifier || (!node.is_rooted && FindLocal(node.name) != nullptr)) return std::nullopt;
    const auto found = std::ranges::find(variables_, node.name, &Variable::name);
    if (found == variables_.end() || found->type->kind != Kind::kDevice) return std::nullopt;
    return static_cast<std::uint32_t>(found - variables_.begin());
  }

  std::vector<StepId> EmitAll(std::span<const NodeId> nodes) {
    std::vector<StepId> steps;
    steps.reserve(nodes.size());
    for (const NodeId node : nodes) steps.push_back(Emit(node));
    return steps;
  }

  StepId EmitCall(const Node& node) {
    if (!node.is_member) {
      const auto* op = std::ranges::find(kOperators, node.name, &Operator::name);
      if (op != kOperators.end()) return EmitOperator(node, op->code);
    }
    if (const std::string function = NamespacedFunction(ast_, node, functions_); !function.empty()) {
      return EmitFunction(node, function, Style::kGlobal, std::span(node.children).subspan(1));
    }
    if (node.is_member && node.children.size() == 2 && (node.name == "or" || node.name == "orValue")) {
      const Code code = node.name == "or" ? Code::kOptionalOr : Code::kOptionalOrValue;
      return AddWithOperands({.code = code, .offset = node.offset}, EmitAll(node.children));
    }
    return EmitFunction(node, node.name, node.is_member ? Style::kMethod : Style::kGlobal, node.children);
  }

  StepId EmitOperator(const Node& node, Code code) {
    if (code == Code::kIndex) {
      const auto* key = std::get_if<std::string>(&ast_.at(node.children[1]).constant);
      if (key != nullptr) {
        if (const auto path = EmitDevicePath(node, node.children[0], *key)) return *path;
      }
    }
    const std::vector<StepId> operands = EmitAll(node.children);
    Step step{.code = code, .ambiguous = IsAmbiguous(node), .offset = node.offset};
    if (code == Code::kIndex || code == Code::kOptionalIndex) {
      step.cost = FirstStepCost(operands[0]);
      MakeFirstStepFree(operands[1]);
    } else if (code == Code::kConditional) {
      MakeFirstStepFree(operands[1]);
      MakeFirstStepFree(operands[2]);
    } else if (code == Code::kIn) {
      const bool literal = IsLiteral(operands[1]) && ValueOf(operands[1]).Is(Kind::kList);
      // cel-go does not even look for something in an empty list.
      if (literal && ValueOf(operands[1]).AsList().empty()) return AddConstant(node, Value::Bool(false));
      step.data = literal ? 1 : 0;
    }
    return AddWithOperands(step, operands);
  }

  const Value& ValueOf(StepId constant) const { return program_.constants[program_.steps[constant].data]; }

  // Looking into what is no attribute yet makes one of it. The selection itself is charged when it succeeds.
  std::uint32_t FirstStepCost(StepId operand) const {
    const bool attribute = IsAttribute(operand) || program_.steps[operand].code == Code::kConditional;
    return attribute ? 0 : static_cast<std::uint32_t>(kSelectCost);
  }

  StepId EmitFunction(const Node& node, std::string_view name, Style style, std::span<const NodeId> arguments) {
    const std::span<const Overload> overloads = functions_.Find(name);
    if (overloads.empty()) return Fail(node, Format("undeclared reference to '{}' (in container '')", name));
    const std::vector<StepId> operands = EmitAll(arguments);
    const bool has_pattern = KeepPattern(name, operands);
    program_.calls.push_back({.name = overloads.front().name, .style = style, .overloads = overloads});
    const auto site = static_cast<std::uint32_t>(program_.calls.size() - 1);
    return AddWithOperands(
        {.code = Code::kCall, .ambiguous = IsAmbiguous(node), .lazy = has_pattern, .data = site, .offset = node.offset},
        operands);
  }

  bool IsAmbiguous(const Node& node) const {
    return checked_ != nullptr && checked_->ambiguous[static_cast<std::size_t>(&node - ast_.nodes.data())];
  }

  // Compiles the regular expression that stands in the text; true when there is one.
  bool KeepPattern(std::string_view name, std::span<const StepId> operands) {
    if ((name != "matches" && name != "find" && name != "findAll") || operands.size() < 2) return false;
    const Step& pattern = program_.steps[operands[1]];
    if (pattern.code != Code::kConstant || !program_.constants[pattern.data].Is(Kind::kString)) return false;
    program_.patterns.Add(program_.constants[pattern.data].AsText());
    return true;
  }

  StepId EmitAggregate(const Node& node) {
    const std::vector<StepId> operands = EmitAll(node.children);
    Step step{.code = node.kind == NodeKind::kList ? Code::kList : Code::kMap,
              .cost = static_cast<std::uint32_t>(node.kind == NodeKind::kList ? kListCost : kMapCost),
              .data = kNoOptionals,
              .offset = node.offset};
    if (!node.optional_entries.empty()) {
      step.data = static_cast<std::uint32_t>(program_.optional_entries.size());
      program_.optional_entries.push_back(node.optional_entries);
    }
    return AddWithOperands(step, operands);
  }

  std::uint32_t TakeSlot(std::string_view name) {
    locals_.push_back({name, next_slot_});
    program_.slots = std::max(program_.slots, next_slot_ + 1);
    return next_slot_++;
  }

  // Emits what may be evaluated while later variables are alive, so that these get slots of their own.
  StepId EmitApart(NodeId id) {
    const std::uint32_t slots = std::exchange(program_.slots, next_slot_);
    const StepId step = Emit(id);
    next_slot_ = program_.slots;
    program_.slots = std::max(program_.slots, slots);
    return step;
  }

  StepId EmitFold(const Node& node) {
    const std::uint32_t outer_slot = next_slot_;
    const std::size_t outer_locals = locals_.size();
    const bool twice = node.macro == Macro::kOptMap || node.macro == Macro::kOptFlatMap;
    std::vector<StepId> operands{twice ? EmitApart(node.children[0]) : Emit(node.children[0])};
    const std::uint32_t slot = TakeSlot(node.name);
    if (!node.second.empty()) TakeSlot(node.second);
    for (const NodeId child : std::span(node.children).subspan(1)) operands.push_back(Emit(child));
    locals_.resize(outer_locals);
    next_slot_ = outer_slot;
    return AddWithOperands({.code = Code::kFold,
                            .macro = node.macro,
                            .two_variables = !node.second.empty(),
                            .ambiguous = IsAmbiguous(node),
                            .data = slot,
                            .offset = node.offset},
                           operands);
  }

  // The initial value is computed when the body first uses it, as in cel-go: never, when it does not.
  StepId EmitBind(const Node& node) {
    const std::uint32_t outer_slot = next_slot_;
    const StepId initial = EmitApart(node.children[0]);
    const std::uint32_t slot = TakeSlot(node.name);
    const StepId body = Emit(node.children[1]);
    locals_.pop_back();
    next_slot_ = outer_slot;
    return AddWithOperands({.code = Code::kBind, .data = slot, .offset = node.offset}, std::array{initial, body});
  }

  const Ast& ast_;
  const Checked* checked_;
  std::span<const Variable> variables_;
  const FunctionSet& functions_;
  Program program_;
  std::vector<Local> locals_;
  std::vector<StepId> literals_;           // Steps that are constants for cel-go too, in rising order.
  std::vector<StepId> folded_attributes_;  // Constants that are the content of others; in rising order.
  std::uint32_t next_slot_ = 0;
};

}  // namespace

Program Generate(const Ast& ast, const Checked* checked, std::span<const Variable> variables,
                 const FunctionSet& functions) {
  return Generator(ast, checked, variables, functions).Run();
}

}  // namespace tessera::cel
