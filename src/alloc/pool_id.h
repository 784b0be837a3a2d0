// alloc/pool_id.h: pools by driver and name, looked up without copying either.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace tessera::alloc {

// g++ 12 cannot compare pairs of strings with pairs of views.
struct PoolIdLess {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return std::tuple<std::string_view, std::string_view>(a.first, a.second) <
           std::tuple<std::string_view, std::string_view>(b.first, b.second);
  }
};

// The order is the scheduler's: by driver, then by pool.
template <class T>
using PoolMap = std::map<std::pair<std::string, std::string>, T, PoolIdLess>;

}  // namespace tessera::alloc
