// Quantities: the canonical form is read back as the same number, and settles; order and sums agree.
#include <cmath>

#include "base/quantity.h"
#include "base/text.h"
#include "tests/fuzz/target.h"

namespace tessera {
namespace {

// "1e100000000" prints as many megabytes, and sums of it are not exact (quantity.h).
bool IsModest(const Quantity& quantity) { return std::abs(quantity.AsApproximateDouble()) < 1e300; }

void CheckOne(const Quantity& quantity) {
  const std::string text = quantity.ToString();
  const auto again = Quantity::Parse(text);
  Require(again.has_value(), "the canonical form is a quantity");
  Require(*again == quantity, "and the same number");
  // Once more: 62.5Ki is 64000, which without its suffix is 64k, in Kubernetes too.
  const std::string settled = again->ToString();
  Require(Quantity::Parse(settled)->ToString() == settled, "and canonical");
  if (const auto integer = quantity.AsInt64()) Require(quantity.Value() == *integer, "an integer is its own value");
  Quantity negated = quantity;
  negated.Negate();
  Require(negated.Sign() == -quantity.Sign(), "the sign turns");
}

void CheckTwo(const Quantity& a, const Quantity& b) {
  Require((a <=> b) == (0 <=> (b <=> a)), "order is the same from both sides");
  Quantity sum = a;
  sum.Add(b);
  if (b.Sign() >= 0) Require(sum >= a, "adding does not make less");
  sum.Sub(b);
  Require(sum == a, "what was added can be taken away");
}

}  // namespace

void Fuzz(std::string_view input) {
  const auto parts = Cut(input, "\n");
  const auto first = Quantity::Parse(parts ? parts->first : input);
  if (!first || !IsModest(*first)) return;
  CheckOne(*first);
  const auto second = parts ? Quantity::Parse(parts->second) : first;
  if (second && IsModest(*second)) CheckTwo(*first, *second);
}

}  // namespace tessera
