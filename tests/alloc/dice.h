// tests/alloc/dice.h: chance that falls the same way everywhere: the standard library's distributions differ.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::tests {

// SplitMix64.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::size_t Below(std::size_t bound) { return Next() % bound; }
  std::size_t From(std::size_t low, std::size_t high) { return low + Below(high - low + 1); }
  bool Chance(std::size_t percent) { return Below(100) < percent; }
  template <class List>
  const auto& Pick(const List& list) {
    return list[Below(list.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::tests
