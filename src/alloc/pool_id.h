// alloc/pool_id.h: pools by driver and name, looked up without copying either.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tessera::alloc {

// The order is the scheduler's: by driver, then by pool. Views, which must outlive it.
template <class T>
using PoolMap = std::map<std::pair<std::string_view, std::string_view>, T>;

// Names of one kind: clusters have thousands of them.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
template <class T>
using NameTable = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

struct PoolIdHash {
  using is_transparent = void;
  std::size_t operator()(const auto& id) const { return NameHash()(id.first) * 31 + NameHash()(id.second); }
};
// g++ 12 cannot compare pairs of strings with pairs of views.
struct PoolIdEqual {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return a.second == b.second && a.first == b.first; }
};
// In no order.
template <class T>
using PoolTable = std::unordered_map<std::pair<std::string, std::string>, T, PoolIdHash, PoolIdEqual>;

}  // namespace tessera::alloc
