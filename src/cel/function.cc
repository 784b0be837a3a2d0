#include "cel/function.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tessera::cel {
namespace {

// "(list<A>, map<A, B>) A": cuts at commas outside angle brackets.
std::vector<std::string_view> SplitParameters(std::string_view text) {
  std::vector<std::string_view> parts;
  int nesting = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && nesting == 0)) {
      if (i > begin) parts.push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '<') {
      ++nesting;
    } else if (text[i] == '>') {
      --nesting;
    }
  }
  return parts;
}

std::uint32_t KindsOf(Type type) {
  return type->form == TypeForm::kConcrete ? 1U << static_cast<unsigned>(type->kind) : ~0U;
}

Overload FromSpec(const OverloadSpec& spec, TypePool& types) {
  const auto halves = Cut(spec.signature.substr(1), ")");
  if (!halves) Abort(Format("bad signature of {}", spec.name));
  Overload overload{
      .name = spec.name, .style = spec.style, .run = spec.run, .is_standard = spec.is_standard, .cost = spec.cost};
  for (const std::string_view parameter : SplitParameters(halves->first)) {
    overload.parameters.push_back(ParseType(parameter, types));
    overload.accepts.push_back(KindsOf(overload.parameters.back()));
  }
  overload.result = ParseType(Trim(halves->second), types);
  return overload;
}

}  // namespace

FunctionSet::FunctionSet(std::span<const std::span<const OverloadSpec>> libraries) {
  for (const auto library : libraries) {
    for (const OverloadSpec& spec : library) overloads_[std::string(spec.name)].push_back(FromSpec(spec, types_));
  }
}

std::span<const Overload> FunctionSet::Find(std::string_view name) const {
  const auto found = overloads_.find(name);
  return found == overloads_.end() ? std::span<const Overload>() : found->second;
}

std::vector<std::string_view> FunctionSet::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, overloads] : overloads_) {
    if (overloads.front().run != nullptr) names.push_back(name);
  }
  return names;
}

const Overload* Match(std::span<const Overload> overloads, Style style, std::span<const Value> arguments) {
  const auto takes = [&](const Overload& overload) {
    if (overload.style != style || overload.accepts.size() != arguments.size()) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if ((overload.accepts[i] >> static_cast<unsigned>(arguments[i].kind()) & 1U) == 0) return false;
    }
    return true;
  };
  const auto found = std::ranges::find_if(overloads, takes);
  return found == overloads.end() ? nullptr : &*found;
}

}  // namespace tessera::cel
