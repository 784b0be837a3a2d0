// cel/map_builder.h: maps that an expression makes: literals, transformMap().
#pragma once

#include <cstdint>
#include <span>

#include "cel/arena.h"
#include "cel/value.h"

namespace tessera::cel {

// Whether a map may be written with it as a key. CEL itself has bool, int, uint and string; cel-go takes nearly all, although
// many are never found again. Bytes would make it panic, and Kubernetes' own types are refused here.
bool IsKey(const Value& value);

class MapBuilder {
 public:
  MapBuilder(Arena& arena, std::size_t capacity);  // At most so many entries will be added.

  // False when the key is there already; numbers are compared by value.
  bool Add(const Value& key, const Value& value);
  void Set(const Value& key, const Value& value);  // Replaces what was there.
  Value Build();                                   // Call once; then the builder is spent.

 private:
  Arena& arena_;
  std::span<MapView::Entry> entries_;
  std::span<std::uint32_t> index_;  // Open addressing; 0 is free, otherwise a position + 1. Empty for small maps.
  std::size_t count_ = 0;
};

}  // namespace tessera::cel
