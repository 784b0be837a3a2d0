#include "cel/map_builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>

namespace tessera::cel {
namespace {

constexpr std::size_t kSmall = 8;  // Up to so many entries are searched one by one.
constexpr std::size_t kAbsent = SIZE_MAX;

std::size_t Hash(const Value& key) {
  if (key.Is(Kind::kString)) return std::hash<std::string_view>()(key.AsText());
  if (key.Is(Kind::kBool)) return key.AsBool() ? 1 : 2;
  if (const auto number = ExactInt(key)) return std::hash<std::int64_t>()(*number) * 0x9E3779B97F4A7C15U;
  // Beyond int64 a uint and a double are equal when their doubles are, which is enough to meet in one slot.
  const double number = key.Is(Kind::kUint) ? static_cast<double>(key.AsUint()) : key.AsDouble();
  return std::hash<double>()(number);
}

bool SameKey(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return Compare(a, b) == Order::kEqual;
  if (a.kind() != b.kind()) return false;
  return a.Is(Kind::kBool) ? a.AsBool() == b.AsBool() : a.AsText() == b.AsText();
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
    if (!IsKey(key)) return std::nullopt;
    const std::size_t at = FindKey(entries_, index_, key);
    return at == kAbsent ? std::nullopt : std::optional(entries_[at].value);
  }

 private:
  std::span<const Entry> entries_;
  std::span<const std::uint32_t> index_;
};

}  // namespace

bool IsKey(const Value& value) { return value.Is(Kind::kBool) || value.IsNumber() || value.Is(Kind::kString); }

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
