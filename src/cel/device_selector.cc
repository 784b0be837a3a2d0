#include "cel/device_selector.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cel/checker.h"
#include "cel/cost_estimate.h"
#include "cel/evaluator.h"
#include "cel/generator.h"
#include "cel/parser.h"
#include "cel/source.h"
#include "cel/substitution.h"

namespace tessera::cel {
namespace {

std::unexpected<Error> CompileError(std::string_view expression, std::span<const Problem> problems) {
  std::string advice;
  for (const Problem& problem : problems) {
    if (advice.empty()) advice = problem.hint;
  }
  return BadConfig("CelCompileError", Format("compilation failed: {}", Render(expression, problems)),
                   std::move(advice));
}

std::unexpected<Error> RuntimeError(std::string message, std::string advice = {}) {
  return BadConfig("CelRuntimeError", std::move(message), std::move(advice));
}

CheckerOptions CheckerOptionsFor(const Environment& environment) {
  return {.dyn_attributes = DeclaresAttributesDyn(environment),
          .allow_multiple_allocations = HasAllowMultipleAllocations(environment)};
}

// Whether the expression's type may turn out to be a bool.
bool IsAnswer(Type type, const Environment& environment) {
  if (type->form == TypeForm::kDyn) return DeclaresAttributesDyn(environment);
  return type->form == TypeForm::kAny || SameType(type, SimpleType(Kind::kBool));
}

// In the words of cel-go's types, each of which has its own.
std::string WhyNotBool(const Value& value) {
  if (value.Is(Kind::kSemver)) return "type conversion error from 'Semver' to 'bool'";
  if (value.Is(Kind::kInt)) return "unsupported type conversion from 'int' to bool";
  if (value.Is(Kind::kList) || value.Is(Kind::kMap)) {
    return Format("type conversion error from {} to 'bool'", TypeName(value));
  }
  return Format("unsupported native conversion from {} to 'bool'", TypeName(value));
}

// Which attribute Kubernetes of this release could not hand to an expression.
std::string UnsupportedAttribute(const DeviceFacts& device, const Environment& environment) {
  if (AllowsListAttributes(environment)) return {};
  constexpr std::size_t kFirstList = 4;  // In AttributeValue, scalars come first.
  for (const AttributeFact& attribute : device.attributes) {
    if (attribute.value.index() < kFirstList) continue;
    const bool bare = attribute.domain == device.driver;
    return Format("attribute {}{}{}: unsupported attribute value", bare ? "" : attribute.domain, bare ? "" : "/",
                  attribute.id);
  }
  return {};
}

}  // namespace

struct DeviceSelector::Compiled {
  std::string expression;
  Environment environment;
  Program program;
  std::vector<Reference> references;
  std::uint64_t cost_estimate = UINT64_MAX;
};

std::string_view DeviceSelector::expression() const { return compiled_->expression; }

std::span<const Reference> DeviceSelector::References() const { return compiled_->references; }

std::uint64_t DeviceSelector::CostEstimate() const { return compiled_->cost_estimate; }

Result<bool> DeviceSelector::Matches(const DeviceFacts& device) const { return Evaluate(device).match; }

std::unexpected<Error> DeviceSelector::Failure(const Outcome& outcome, const DeviceFacts& device) const {
  std::string message(outcome.value.AsText());
  if (outcome.limit_reached) {
    return BadConfig("CelCostExceeded", std::move(message),
                     "make the expression cheaper: it is evaluated for each device");
  }
  const std::array where{Problem{.offset = outcome.offset, .message = message, .hint = {}}};
  std::string advice = Format("{}\n{}", NextStep(outcome.offset, device), Render(compiled_->expression, where));
  return RuntimeError(std::move(message), std::move(advice));
}

std::string DeviceSelector::NextStep(std::uint32_t offset, const DeviceFacts& device) const {
  const auto reference = std::ranges::find(compiled_->references, offset, &Reference::offset);
  const bool missing = reference != compiled_->references.end() && !Has(device, *reference);
  if (!missing) return "make sure that it is evaluated only where it can be:";
  const std::string near = Suggest(device, *reference);
  return near.empty() ? "ask with has() or .? first:" : near;
}

DeviceSelector::Evaluation DeviceSelector::Evaluate(const DeviceFacts& device) const {
  if (!device.fault.empty()) return {.match = RuntimeError(device.fault)};
  if (auto unsupported = UnsupportedAttribute(device, compiled_->environment); !unsupported.empty()) {
    return {.match = RuntimeError(std::move(unsupported))};
  }
  Arena arena;
  const std::array variables{Value::Of(&device)};
  const Outcome outcome = cel::Evaluate(compiled_->program, variables, arena, compiled_->environment.cost_limit);
  if (outcome.value.Is(Kind::kBool)) return {.match = outcome.value.AsBool(), .cost = outcome.cost};
  if (outcome.value.IsError()) return {.match = Failure(outcome, device), .cost = outcome.cost};
  return {.match = RuntimeError(Format("CEL result of type {} could not be converted to bool: {}",
                                       TypeName(outcome.value), WhyNotBool(outcome.value))),
          .cost = outcome.cost};
}

Result<DeviceSelector> Compile(std::string_view expression, const Environment& environment) {
  if (expression.size() > environment.max_length) {
    return BadConfig(
        "CelTooLong",
        Format("the expression has {} bytes, but at most {} are allowed", expression.size(), environment.max_length),
        "split it: a request takes several selectors, and all must match");
  }
  const auto ast = Parse(expression, ParserOptionsFor(environment));
  if (!ast) return CompileError(expression, ast.error());
  const std::array variables{Variable{.name = "device", .type = SimpleType(Kind::kDevice)}};
  const auto checked = Check(*ast, variables, FunctionsFor(environment), CheckerOptionsFor(environment));
  if (!checked) return CompileError(expression, checked.error());
  if (!IsAnswer(checked->result, environment)) {
    return BadConfig("CelCompileError",
                     Format("must evaluate to bool or the unknown type, not {}", ToString(checked->result)),
                     "compare it with something, so that it says whether a device matches");
  }
  auto compiled = std::make_shared<DeviceSelector::Compiled>();
  compiled->expression = expression;
  compiled->environment = environment;
  compiled->references = FindReferences(*ast);
  if (environment.use == Use::kNewExpression) {
    compiled->cost_estimate = EstimateCost(*ast, *checked, FunctionsFor(environment));
    if (compiled->cost_estimate > environment.cost_limit) {
      return BadConfig("CelTooComplex", "too complex, exceeds cost limit",
                       "loop over less, or compare shorter texts: the worst case counts");
    }
  }
  compiled->program = Generate(*ast, &*checked, variables, FunctionsFor(environment));
  if (const std::string& fault = compiled->program.fault; !fault.empty()) {
    return BadConfig("CelCompileError", Format("program instantiation failed: {}", fault));
  }
  return DeviceSelector(std::move(compiled));
}

}  // namespace tessera::cel
