#include "cel/map_builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>

namespace tessera::cel {
namespace {

constexpr std::size_t kSmall = 8;  // Up to so many entries are searched one by one.
constexpr std::size_t kAbsent = SIZE_MAX;

std::size_t HashNumber(const Value& key) {
  if (const auto number = ExactInt(key)) return std::hash<std::int64_t>()(*number) * 0x9E3779B97F4A7C15U;
  // Beyond int64 a uint and a double are equal when their doubles are, which is enough to meet in one slot.
  const double number = key.Is(Kind::kUint) ? static_cast<double>(key.AsUint()) : key.AsDouble();
  return std::hash<double>()(number);
}

std::size_t Hash(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
    case Kind::kType:
      return std::hash<std::string_view>()(key.AsText());
    case Kind::kBool:
      return key.AsBool() ? 1 : 2;
    case Kind::kTimestamp:
      return std::hash<std::int64_t>()(key.AsTime().seconds);
    case Kind::kDuration:
      return std::hash<std::int64_t>()(key.AsNanos());
    case Kind::kList:
      return std::hash<const void*>()(key.AsList().data());
    case Kind::kMap:
      return std::hash<const void*>()(&key.AsMap());
    case Kind::kOptional:
      return std::hash<const void*>()(key.AsOptional());
    default:
      return key.IsNumber() ? HashNumber(key) : 0;
  }
}

// Lists, maps and optionals are pointers in cel-go: no two that an expression writes are one key.
bool SameKey(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return Compare(a, b) == Order::kEqual;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.AsBool() == b.AsBool();
    case Kind::kString:
    case Kind::kType:
      return a.AsText() == b.AsText();
    case Kind::kTimestamp:
      return a.AsTime() == b.AsTime();
    case Kind::kDuration:
      return a.AsNanos() == b.AsNanos();
    default:
      return false;
  }
}

std::size_t FindKey(std::span<const MapView::Entry> entries, std::span<const std::uint32_t> index, const Value& key) {
  if (index.empty()) {
    const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return SameKey(entry.key, key); });
    return found == entries.end() ? kAbsent : static_cast<std::size_t>(found - entries.begin());
  }
  const std::size_t mask = index.size() - 1;
  for (std::size_t slot = Hash(key) & mask; index[slot] != 0; slot = (slot + 1) & mask) {
    if (SameKey(entries[index[slot] - 1].key, key)) return index[slot] - 1;
  }
  return kAbsent;
}

class BuiltMap final : public MapView {
 public:
  BuiltMap(std::span<const Entry> entries, std::span<const std::uint32_t> index) : entries_(entries), index_(index) {}

  std::size_t Size() const override { return entries_.size(); }
  Entry At(Arena& /*arena*/, std::size_t index) const override { return entries_[index]; }
  std::optional<Value> Find(Arena& /*arena*/, const Value& key) const override {
    const std::size_t at = FindKey(entries_, index_, key);
    return at == kAbsent ? std::nullopt : std::optional(entries_[at].value);
  }

 private:
  std::span<const Entry> entries_;
  std::span<const std::uint32_t> index_;
};

}  // namespace

bool IsKey(const Value& value) { return value.kind() < Kind::kQuantity && !value.Is(Kind::kBytes); }

MapBuilder::MapBuilder(Arena& arena, std::size_t capacity)
    : arena_(arena), entries_(arena.Room<MapView::Entry>(capacity)) {
  if (capacity <= kSmall) return;
  index_ = arena.Room<std::uint32_t>(std::bit_ceil(capacity * 2));
  std::ranges::fill(index_, 0);
}

bool MapBuilder::Add(const Value& key, const Value& value) {
  if (FindKey(entries_.first(count_), index_, key) != kAbsent) return false;
  entries_[count_++] = {key, value};
  if (index_.empty()) return true;
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = Hash(key) & mask;
  while (index_[slot] != 0) slot = (slot + 1) & mask;
  index_[slot] = static_cast<std::uint32_t>(count_);
  return true;
}

void MapBuilder::Set(const Value& key, const Value& value) {
  if (!Add(key, value)) entries_[FindKey(entries_.first(count_), index_, key)].value = value;
}

Value MapBuilder::Build() { return Value::Map(arena_.Own(BuiltMap(entries_.first(count_), index_))); }

}  // namespace tessera::cel
