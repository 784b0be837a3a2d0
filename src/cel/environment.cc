#include "cel/environment.h"

#include <compare>
#include <map>
#include <mutex>
#include <vector>

#include "cel/library.h"

namespace tessera::cel {
namespace {

bool IsStored(const Environment& environment) { return environment.use == Use::kStoredExpression; }

// cel-go's lists came with 1.34; a 1.34 API server admits only what 1.33 knew.
bool HasListExtension(const Environment& environment) {
  return IsStored(environment) || environment.release > Release::k1_34;
}

enum class IncludesLibrary : std::uint8_t { kNone, kUpTo48, kUnlimited };

IncludesLibrary IncludesOf(const Environment& environment) {
  if (environment.release < Release::k1_36) return IncludesLibrary::kNone;
  if (!IsStored(environment) && !environment.list_type_attributes_gate) return IncludesLibrary::kNone;
  return environment.release == Release::k1_36 ? IncludesLibrary::kUpTo48 : IncludesLibrary::kUnlimited;
}

struct Choice {
  bool list_extension = false;
  IncludesLibrary includes = IncludesLibrary::kNone;
  bool since_1_37 = false;
  auto operator<=>(const Choice&) const = default;
};

FunctionSet Build(const Choice& choice) {
  std::vector<std::span<const OverloadSpec>> libraries{
      StandardOperators(), StandardFunctions(), TimeFunctions(),  OptionalFunctions(), StringFunctions(),
      RegexFunctions(),    ListFunctions(),     SetFunctions(),   QuantityFunctions(), SemverFunctions(),
      NetworkFunctions(),  UrlFunctions(),      FormatFunctions()};
  libraries.push_back(choice.since_1_37 ? Prefixes() : PrefixesUntil136());
  if (choice.list_extension) libraries.push_back(ListExtension());
  if (choice.includes == IncludesLibrary::kUpTo48) libraries.push_back(IncludesUpTo48());
  if (choice.includes == IncludesLibrary::kUnlimited) libraries.push_back(Includes());
  return FunctionSet(libraries);
}

}  // namespace

bool HasAllowMultipleAllocations(const Environment& environment) {
  return IsStored(environment) || environment.consumable_capacity_gate;
}

bool AllowsListAttributes(const Environment& environment) {
  return environment.release >= Release::k1_37 ||
         (environment.release == Release::k1_36 && environment.list_type_attributes_gate);
}

bool DeclaresAttributesDyn(const Environment& environment) {
  if (environment.release < Release::k1_36) return false;
  if (IsStored(environment) && environment.release >= Release::k1_37) return true;
  return environment.list_type_attributes_gate;
}

ParserOptions ParserOptionsFor(const Environment& environment) {
  return {.sort_by = HasListExtension(environment), .escaped_names = environment.release >= Release::k1_37};
}

const FunctionSet& FunctionsFor(const Environment& environment) {
  static std::mutex mutex;
  static std::map<Choice, FunctionSet> sets;  // Guarded by mutex; sets are never removed.
  const Choice choice{HasListExtension(environment), IncludesOf(environment), environment.release >= Release::k1_37};
  const std::lock_guard lock(mutex);
  auto found = sets.find(choice);
  if (found == sets.end()) found = sets.emplace(choice, Build(choice)).first;
  return found->second;
}

}  // namespace tessera::cel
