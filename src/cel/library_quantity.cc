// kubernetes.Quantity.
#include "base/quantity.h"
#include "cel/context.h"
#include "cel/library.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

Value ParseQuantity(Context& context, Arguments a) {
  auto quantity = Quantity::Parse(a[0].AsText());
  if (!quantity) return context.Error(quantity.error().message());
  return Value::Of(context.arena.Own(*std::move(quantity)));
}

Value IsQuantity(Context& /*context*/, Arguments a) { return Value::Bool(Quantity::Parse(a[0].AsText()).has_value()); }
Value Sign(Context& /*context*/, Arguments a) { return Value::Int(a[0].AsQuantity().Sign()); }

Value IsGreater(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsQuantity() > a[1].AsQuantity()); }
Value IsLess(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsQuantity() < a[1].AsQuantity()); }
Value CompareTo(Context& /*context*/, Arguments a) {
  const auto order = a[0].AsQuantity() <=> a[1].AsQuantity();
  return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

Value IsInteger(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsQuantity().AsGoInt64().has_value()); }
Value AsInteger(Context& /*context*/, Arguments a) {
  const auto integer = a[0].AsQuantity().AsGoInt64();
  return integer ? Value::Int(*integer) : Value::Error("cannot convert value to integer");
}
Value AsFloat(Context& /*context*/, Arguments a) { return Value::Double(a[0].AsQuantity().AsApproximateDouble()); }

Quantity Operand(const Value& value) {
  return value.Is(Kind::kInt) ? Quantity::FromInteger(value.AsInt()) : value.AsQuantity();
}

Value Add(Context& context, Arguments a) {
  Quantity sum = a[0].AsQuantity();
  sum.Add(Operand(a[1]));
  return Value::Of(context.arena.Own(std::move(sum)), true);
}

Value Sub(Context& context, Arguments a) {
  Quantity difference = a[0].AsQuantity();
  difference.Sub(Operand(a[1]));
  return Value::Of(context.arena.Own(std::move(difference)), true);
}

constexpr OverloadSpec kOverloads[]{
    {"quantity", Style::kGlobal, "(string) Quantity", ParseQuantity, CostRule::kTraverse},
    {"isQuantity", Style::kGlobal, "(string) bool", IsQuantity, CostRule::kTraverse},
    {"sign", Style::kGlobal, "(Quantity) int", Sign},
    {"isGreaterThan", Style::kMethod, "(Quantity, Quantity) bool", IsGreater},
    {"isLessThan", Style::kMethod, "(Quantity, Quantity) bool", IsLess},
    {"compareTo", Style::kMethod, "(Quantity, Quantity) int", CompareTo},
    {"asInteger", Style::kMethod, "(Quantity) int", AsInteger},
    {"isInteger", Style::kMethod, "(Quantity) bool", IsInteger},
    {"asApproximateFloat", Style::kMethod, "(Quantity) double", AsFloat},
    {"add", Style::kMethod, "(Quantity, Quantity) Quantity", Add},
    {"add", Style::kMethod, "(Quantity, int) Quantity", Add},
    {"sub", Style::kMethod, "(Quantity, Quantity) Quantity", Sub},
    {"sub", Style::kMethod, "(Quantity, int) Quantity", Sub},
};

}  // namespace

std::span<const OverloadSpec> QuantityFunctions() { return kOverloads; }

}  // namespace tessera::cel
