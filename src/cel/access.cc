#include "cel/access.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/device_maps.h"

namespace tessera::cel {
namespace {

Value NoSuchKey(Context& context, const Value& key) {
  return context.Error(Format("no such key: {}", ForMessage(key)));
}

// What is there, nothing, or (as an error value) why the question makes no sense.
std::optional<Value> FindIndex(Context& context, const Value& operand, const Value& key) {
  if (operand.Is(Kind::kMap)) {
    const bool is_key = key.IsNumber() || key.Is(Kind::kString) || key.Is(Kind::kBool);
    if (!is_key) return context.Error(Format("unsupported key type: {}", TypeName(key)));
    return operand.AsMap().Find(context.arena, key);
  }
  if (!operand.Is(Kind::kList)) return NoSuchKey(context, key);
  if (!key.IsNumber()) return context.Error(Format("unsupported index type '{}' in list", TypeName(key)));
  const auto position = ExactInt(key);
  if (!position) return context.Error(Format("unsupported index value {} in list", ForMessage(key)));
  const auto items = operand.AsList();
  if (*position < 0 || static_cast<std::uint64_t>(*position) >= items.size()) return std::nullopt;
  return items[static_cast<std::size_t>(*position)];
}

std::optional<Value> FindField(Context& context, const Value& operand, const Value& field) {
  if (operand.Is(Kind::kMap)) return operand.AsMap().Find(context.arena, field);
  if (operand.Is(Kind::kDevice)) return DeviceField(context.arena, operand.AsDevice(), field.AsText());
  return NoSuchKey(context, field);
}

Value Missing(Context& context, const Value& operand, const Value& key) {
  if (operand.Is(Kind::kList)) return context.Error(Format("index out of bounds: {}", ForMessage(key)));
  return NoSuchKey(context, key);
}

using Finder = std::optional<Value> (*)(Context&, const Value&, const Value&);

Value Optionally(Context& context, Finder find, const Value& operand, const Value& key) {
  const bool nested = operand.Is(Kind::kOptional);
  if (nested && operand.AsOptional() == nullptr) return operand;
  const auto found = find(context, nested ? *operand.AsOptional() : operand, key);
  if (!found) return Value::None();
  return found->IsError() ? *found : context.Some(*found);
}

Value Definitely(Context& context, Finder find, const Value& operand, const Value& key) {
  if (operand.Is(Kind::kOptional)) return Optionally(context, find, operand, key);
  const auto found = find(context, operand, key);
  return found ? *found : Missing(context, operand, key);
}

}  // namespace

Value Select(Context& context, const Value& operand, const Value& field) {
  return Definitely(context, FindField, operand, field);
}

Value Index(Context& context, const Value& operand, const Value& key) {
  return Definitely(context, FindIndex, operand, key);
}

Value OptionalSelect(Context& context, const Value& operand, const Value& field) {
  return Optionally(context, FindField, operand, field);
}

Value OptionalIndex(Context& context, const Value& operand, const Value& key) {
  return Optionally(context, FindIndex, operand, key);
}

Value Has(Context& context, const Value& operand, const Value& field) {
  const bool nested = operand.Is(Kind::kOptional);
  if (nested && operand.AsOptional() == nullptr) return Value::Bool(false);
  const auto found = FindField(context, nested ? *operand.AsOptional() : operand, field);
  if (found && found->IsError()) return *found;
  return Value::Bool(found.has_value());
}

Value In(Context& context, const Value& needle, const Value& haystack) {
  if (haystack.Is(Kind::kMap)) return Value::Bool(haystack.AsMap().Holds(context.arena, needle));
  if (!haystack.Is(Kind::kList)) return Value::Error(kNoSuchOverload);
  return Value::Bool(std::ranges::any_of(
      haystack.AsList(), [&](const Value& item) { return Equal(context.arena, needle, item) == Equality::kEqual; }));
}

}  // namespace tessera::cel
