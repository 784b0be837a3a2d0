#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "json/value.h"

namespace tessera::json {
namespace {

// The first step of a path, a field, `["key"]` or `[3]`, and the rest.
struct Step {
  std::string_view key;
  std::optional<std::size_t> index;
  std::string_view rest;
};

std::optional<Step> FirstStep(std::string_view path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  if (path.empty()) return std::nullopt;
  if (path.starts_with("[\"")) {
    const auto cut = Cut(path.substr(2), "\"]");
    if (!cut) return std::nullopt;
    return Step{.key = cut->first, .index = std::nullopt, .rest = cut->second};
  }
  if (path.starts_with('[')) {
    const auto cut = Cut(path.substr(1), "]");
    const auto index = cut ? ParseNumber<std::size_t>(cut->first) : std::nullopt;
    if (!index) return std::nullopt;
    return Step{.key = {}, .index = index, .rest = cut->second};
  }
  const auto end = std::min(path.find_first_of(".["), path.size());
  return Step{.key = path.substr(0, end), .index = std::nullopt, .rest = path.substr(end)};
}

// The part's number among those of `value`.
std::optional<std::size_t> Find(const Value& value, const Step& step) {
  if (step.index) {
    const Array* array = value.if_array();
    return array != nullptr && *step.index < array->size() ? step.index : std::nullopt;
  }
  const Object* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  const auto found = object->find(step.key);
  if (found == object->end()) return std::nullopt;
  return static_cast<std::size_t>(std::distance(object->begin(), found));
}

const Value& Part(const Value& value, std::size_t number) {
  if (const Array* array = value.if_array()) return (*array)[number];
  return std::next(value.get_object().begin(), static_cast<std::ptrdiff_t>(number))->value();
}

}  // namespace

std::size_t LineOf(const Value& value, const Mark& mark, std::string_view path) {
  const Value* at = &value;
  const Mark* here = &mark;
  for (auto step = FirstStep(path); step; step = FirstStep(step->rest)) {
    const auto number = Find(*at, *step);
    if (!number || *number >= here->parts.size()) break;  // An alias has no parts: it points to where it is used.
    here = &here->parts[*number];
    at = &Part(*at, *number);
  }
  return here->line;
}

}  // namespace tessera::json
