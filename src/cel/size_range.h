// cel/size_range.h: sizes and costs that are known to lie between two numbers; UINT64_MAX is "no bound", and sums and
// products stop there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera::cel {

constexpr std::uint64_t kUnbounded = UINT64_MAX;

inline std::uint64_t CappedSum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kUnbounded : sum;
}

inline std::uint64_t CappedProduct(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}

// Rounded up.
inline std::uint64_t CappedScale(std::uint64_t a, double factor) {
  const double scaled = std::ceil(static_cast<double>(a) * factor);
  return scaled >= 18446744073709551616.0 ? kUnbounded : static_cast<std::uint64_t>(scaled);
}

struct SizeRange {
  std::uint64_t min = 0;
  std::uint64_t max = kUnbounded;

  static SizeRange Exactly(std::uint64_t size) { return {size, size}; }
  SizeRange operator+(const SizeRange& other) const { return {CappedSum(min, other.min), CappedSum(max, other.max)}; }
  SizeRange operator*(const SizeRange& other) const {
    return {CappedProduct(min, other.min), CappedProduct(max, other.max)};
  }
  SizeRange Union(const SizeRange& other) const { return {std::min(min, other.min), std::max(max, other.max)}; }
};

}  // namespace tessera::cel
