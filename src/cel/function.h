// cel/function.h: how the libraries declare their functions, and how a call finds its overload.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace tessera::cel {

class Context;

// Gets values of the kinds that the signature names, never an error; answers with a value or an error.
using Implementation = Value (*)(Context&, std::span<const Value>);

// What a call costs, by the sizes of its arguments; the figures are Kubernetes' (cost.h).
enum class CostRule : std::uint8_t {
  kOne,
  kTraverse,           // a tenth of the first argument
  kTraverseSecond,     // a tenth of the second argument
  kTraverseTwice,      // a fifth of the first argument
  kBuildResult,        // a fifth of the result
  kAllElements,        // all that the list holds
  kRegex,              // text times pattern
  kContains,           // text times text
  kFormat,             // text times the longest pattern of a named format
  kCidrContains,       // the prefix twice, and text that must be parsed
  kCidrContainsBlock,  // the same, and the other prefix
  kSets,               // product of both lists
  kSetsBothWays,       // twice that
  kNewList,            // the elements of the result
  kFlatten,            // the elements of the list for each level
  kSelfCompare,        // every element with every other, twice
};

enum class Style : std::uint8_t { kGlobal, kMethod };

// As a library writes it. A method's receiver is its first parameter: "(string, int) string".
struct OverloadSpec {
  std::string_view name;
  Style style;
  std::string_view signature;
  Implementation run;
  CostRule cost = CostRule::kOne;
  bool is_standard = false;
};

struct Overload {
  std::string_view name;
  Style style = Style::kGlobal;
  std::vector<Type> parameters;
  Type result = nullptr;
  std::vector<std::uint32_t> accepts;  // For each parameter the kinds of value it takes, as bits.
  Implementation run = nullptr;        // Null: an operator, which the evaluator does itself.
  bool is_standard = false;            // Of CEL itself; then a call that fits no overload does not say which.
  CostRule cost = CostRule::kOne;
};

// The functions of one environment. Immutable once built.
class FunctionSet {
 public:
  explicit FunctionSet(std::span<const std::span<const OverloadSpec>> libraries);

  // All overloads of a name; empty when there is none.
  std::span<const Overload> Find(std::string_view name) const;
  bool Has(std::string_view name) const { return !Find(name).empty(); }
  std::vector<std::string_view> Names() const;  // Without operators; for "did you mean".

 private:
  TypePool types_;
  std::map<std::string, std::vector<Overload>, std::less<>> overloads_;
};

// The first overload that takes these values, or null.
const Overload* Match(std::span<const Overload> overloads, Style style, std::span<const Value> arguments);

}  // namespace tessera::cel
