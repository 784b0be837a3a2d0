#include "cel/device_maps.h"

#include <algorithm>
#include <span>
#include <type_traits>

namespace tessera::cel {
namespace {

template <class T>
Value ScalarValue(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return Value::Bool(value);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Value::Int(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Value::String(value);
  } else {
    return Value::Of(&value);
  }
}

template <class T>
Value ToValue(Arena& /*arena*/, const T& scalar) {
  return ScalarValue<T>(scalar);
}

template <class T>
Value ToValue(Arena& arena, const std::vector<T>& list) {
  const std::span<Value> items = arena.Room<Value>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      items[i] = Value::Bool(list[i]);
    } else {
      items[i] = ScalarValue<T>(list[i]);
    }
  }
  return Value::List(items);
}

Value ValueOf(Arena& arena, const AttributeFact& fact) {
  return std::visit([&](const auto& value) { return ToValue(arena, value); }, fact.value);
}

Value ValueOf(Arena& /*arena*/, const CapacityFact& fact) { return Value::Of(&fact.value); }

template <class Fact>
const Fact* FindFact(std::span<const Fact> facts, std::string_view domain, std::string_view id) {
  const auto found =
      std::ranges::find_if(facts, [&](const Fact& fact) { return fact.id == id && fact.domain == domain; });
  return found == facts.end() ? nullptr : &*found;
}

// The inner map: id to value, of one domain.
template <class Fact>
class IdMap final : public MapView {
 public:
  IdMap(std::span<const Fact> facts, std::string_view domain) : facts_(facts), domain_(domain) {}

  std::size_t Size() const override {
    return static_cast<std::size_t>(std::ranges::count(facts_, domain_, &Fact::domain));
  }

  Entry At(Arena& arena, std::size_t index) const override {
    for (const Fact& fact : facts_) {
      if (fact.domain == domain_ && index-- == 0) return {Value::String(fact.id), ValueOf(arena, fact)};
    }
    return {};
  }

  std::optional<Value> Find(Arena& arena, const Value& key) const override {
    if (!key.Is(Kind::kString)) return std::nullopt;
    const Fact* fact = FindFact(facts_, domain_, key.AsText());
    return fact == nullptr ? std::nullopt : std::optional(ValueOf(arena, *fact));
  }

 private:
  std::span<const Fact> facts_;
  std::string_view domain_;
};

// The outer map: domain to inner map. A domain that the device does not have is an empty map and no error, the way
// Kubernetes has it; but it is not `in` the map, and iteration does not see it.
template <class Fact>
class DomainMap final : public MapView {
 public:
  explicit DomainMap(std::span<const Fact> facts) : facts_(facts) {}

  std::size_t Size() const override {
    std::size_t size = 0;
    for (std::size_t i = 0; i < facts_.size(); ++i) size += IsFirstOfDomain(i) ? 1 : 0;
    return size;
  }

  Entry At(Arena& arena, std::size_t index) const override {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (IsFirstOfDomain(i) && index-- == 0) return {Value::String(facts_[i].domain), Inner(arena, facts_[i].domain)};
    }
    return {};
  }

  std::optional<Value> Find(Arena& arena, const Value& key) const override {
    return Inner(arena, key.Is(Kind::kString) ? key.AsText() : std::string_view());
  }

  bool Holds(Arena& /*arena*/, const Value& key) const override {
    return key.Is(Kind::kString) && std::ranges::find(facts_, key.AsText(), &Fact::domain) != facts_.end();
  }

 private:
  bool IsFirstOfDomain(std::size_t index) const {
    const auto before = facts_.first(index);
    return std::ranges::find(before, facts_[index].domain, &Fact::domain) == before.end();
  }

  Value Inner(Arena& arena, std::string_view domain) const {
    return Value::Map(arena.Own(IdMap<Fact>(facts_, domain)));
  }

  std::span<const Fact> facts_;
};

}  // namespace

std::optional<Value> DeviceField(Arena& arena, const DeviceFacts& device, std::string_view field) {
  if (field == "driver") return Value::String(device.driver);
  if (field == "allowMultipleAllocations") return Value::Bool(device.allow_multiple_allocations);
  if (field == "attributes") {
    return Value::Map(arena.Own(DomainMap<AttributeFact>(std::span(device.attributes))));
  }
  if (field == "capacity") return Value::Map(arena.Own(DomainMap<CapacityFact>(std::span(device.capacity))));
  return std::nullopt;
}

std::optional<Value> FindAttribute(Arena& arena, const DeviceFacts& device, std::string_view domain,
                                   std::string_view id) {
  const auto* fact = FindFact(std::span(device.attributes), domain, id);
  return fact == nullptr ? std::nullopt : std::optional(ValueOf(arena, *fact));
}

std::optional<Value> FindCapacity(const DeviceFacts& device, std::string_view domain, std::string_view id) {
  const auto* fact = FindFact(std::span(device.capacity), domain, id);
  return fact == nullptr ? std::nullopt : std::optional(Value::Of(&fact->value));
}

}  // namespace tessera::cel
