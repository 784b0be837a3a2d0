#include "alloc/capacity.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace tessera::alloc {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

using Range = api::CapacityPolicy::Range;

std::unexpected<Error> NotRepresentable(std::string_view why) {
  return BadConfig("CapacityNotRepresentable",
                   Format("capacity request cannot be represented in the device's range arithmetic: {}", why),
                   "ask for less");
}

// In thousandths, when that is exact.
std::optional<std::int64_t> Milli(const Quantity& quantity) {
  const std::int64_t milli = quantity.MilliValue();
  const auto back = Quantity::Parse(Format("{}m", milli));
  if (back && *back == quantity) return milli;
  return std::nullopt;
}

bool UsesMilli(const Range& range, const Rules& rules) {
  if (!rules.gates.fractional_capacity_range) return false;
  for (const auto* bound : {&range.min, &range.max, &range.step}) {
    if (*bound && !Milli(**bound)) return false;
  }
  return !range.step || Milli(*range.step).value_or(0) >= 1;
}

Quantity InFormatOf(const Quantity& step, std::int64_t value, const Rules& rules) {
  const bool binary = rules.release < cel::Release::k1_37 || step.format() == QuantityFormat::kBinarySi;
  return binary ? Quantity::FromBytes(value) : Quantity::FromInteger(value);
}

// How many steps reach `wanted` from `min`; both in the same unit.
std::int64_t Steps(std::int64_t wanted, std::int64_t min, std::int64_t step) {
  const std::int64_t added = wanted - min;
  return added / step + (added % step != 0 ? 1 : 0);
}

Result<Quantity> RoundUpMilli(const Quantity& wanted, const Range& range, const Rules& rules) {
  const auto milli = Milli(wanted);
  if (!milli) return NotRepresentable(Format("request {} is not a representable milli value", wanted.ToString()));
  const std::int64_t min = range.min->MilliValue();
  const std::int64_t step = range.step->MilliValue();
  const std::int64_t steps = Steps(*milli, min, step);
  if (steps > (kMax - min) / step) {
    return NotRepresentable(
        Format("rounding request {} up to the next step passes the milli-value range", wanted.ToString()));
  }
  const std::int64_t value = min + steps * step;
  if (value % 1000 == 0) return InFormatOf(*range.step, value / 1000, rules);
  return Quantity::Parse(Format("{}m", value));
}

Result<Quantity> RoundUp(const Quantity& wanted, const Range& range, const Rules& rules) {
  if (wanted < *range.min) return *range.min;
  if (!range.step) return wanted;
  if (UsesMilli(range, rules)) return RoundUpMilli(wanted, range, rules);
  if (wanted > Quantity::FromInteger(kMax)) {
    return NotRepresentable(Format("request {} exceeds MaxInt64", wanted.ToString()));
  }
  const std::int64_t min = range.min->Value();
  const std::int64_t step = range.step->Value();
  if (step <= 0) return NotRepresentable(Format("the step {} is not positive", range.step->ToString()));
  const std::int64_t steps = Steps(wanted.Value(), min, step);
  if (min >= 0 && steps > (kMax - min) / step) {
    return NotRepresentable(Format("rounding request {} up to the next step passes MaxInt64", wanted.ToString()));
  }
  return InFormatOf(*range.step, min + steps * step, rules);
}

Quantity RoundUpToValue(const Quantity& wanted, const std::vector<Quantity>& values) {
  const auto found = std::ranges::find_if(values, [&](const Quantity& value) { return wanted <= value; });
  return found == values.end() ? wanted : *found;
}

Result<Quantity> ConsumedOf(const Quantity* wanted, const Quantity& value, const api::CapacityPolicy* policy,
                            const Rules& rules) {
  if (wanted == nullptr) return policy != nullptr && policy->default_value ? *policy->default_value : value;
  if (policy == nullptr) return *wanted;
  if (policy->valid_range && policy->valid_range->min) return RoundUp(*wanted, *policy->valid_range, rules);
  return RoundUpToValue(*wanted, policy->valid_values);
}

bool OnStep(const Quantity& consumed, const Range& range, const Rules& rules) {
  if (!range.step || !range.min) return true;
  if (UsesMilli(range, rules)) {
    const auto milli = Milli(consumed);
    return milli && (*milli - range.min->MilliValue()) % range.step->MilliValue() == 0;
  }
  const std::int64_t step = range.step->Value();
  return step > 0 && (consumed.Value() - range.min->Value()) % step == 0;
}

bool Allowed(const Quantity& consumed, const api::CapacityPolicy& policy, const Rules& rules) {
  if (policy.default_value && consumed == *policy.default_value) return true;
  if (policy.valid_range) {
    if (policy.valid_range->max && consumed > *policy.valid_range->max) return false;
    return OnStep(consumed, *policy.valid_range, rules);
  }
  return policy.valid_values.empty() || std::ranges::find(policy.valid_values, consumed) != policy.valid_values.end();
}

const Quantity* Find(const Amounts* amounts, const std::string& name) {
  if (amounts == nullptr) return nullptr;
  const auto found = amounts->find(name);
  return found == amounts->end() ? nullptr : &found->second;
}

const api::CapacityPolicy* PolicyOf(const api::Device& device, const std::string& name) {
  const auto found = device.capacity_policies.find(name);
  return found == device.capacity_policies.end() ? nullptr : &found->second;
}

bool NamesUnknown(const api::DeviceRequest& request, const api::Device& device) {
  if (!request.capacity) return false;
  return std::ranges::any_of(*request.capacity,
                             [&](const auto& wanted) { return !device.capacity.contains(wanted.first); });
}

bool Enough(const std::string& name, const Quantity& consumed, const Quantity& value, const Amounts* taken,
            const Amounts* taken_now) {
  Quantity sum = consumed;
  if (const Quantity* amount = Find(taken, name)) sum.Add(*amount);
  if (const Quantity* amount = Find(taken_now, name)) sum.Add(*amount);
  return sum <= value;
}

// What nearly every device and request are: nothing asked for, nothing taken, nothing odd.
bool Plain(const api::DeviceRequest& request, const api::Device& device, const Amounts* taken,
           const Amounts* taken_now) {
  return (!request.capacity || request.capacity->empty()) && device.capacity_policies.empty() && taken == nullptr &&
         taken_now == nullptr &&
         std::ranges::all_of(device.capacity, [](const auto& capacity) { return capacity.second.Sign() >= 0; });
}

}  // namespace

Result<Amounts> Consumed(const api::DeviceRequest& request, const api::Device& device, const Rules& rules) {
  Amounts consumed;
  for (const auto& [name, value] : device.capacity) {
    const Amounts* wanted = request.capacity ? &*request.capacity : nullptr;
    auto amount = ConsumedOf(Find(wanted, name), value, PolicyOf(device, name), rules);
    if (!amount) return std::unexpected(std::move(amount).error().Wrap(Format("capacity {}", Quote(name))));
    if (amount->Sign() < 0 && rules.capacity_faults_are_fatal) {
      return BadConfig("CapacityNegative", Format("capacity {}: capacity value is negative", Quote(name)),
                       "correct the capacity in the ResourceSlice or in the claim");
    }
    consumed.emplace(name, *std::move(amount));
  }
  return consumed;
}

Fit CheckCapacity(const api::DeviceRequest& request, const api::Device& device, const Amounts* taken,
                  const Amounts* taken_now, const Rules& rules) {
  if (Plain(request, device, taken, taken_now)) return Fit::kFits;
  if (NamesUnknown(request, device)) return Fit::kUnknownCapacity;
  const auto consumed = Consumed(request, device, rules);
  if (!consumed) return Fit::kFault;
  for (const auto& [name, amount] : *consumed) {
    const api::CapacityPolicy* policy = PolicyOf(device, name);
    if (policy != nullptr && !Allowed(amount, *policy, rules)) return Fit::kAgainstPolicy;
    if (!Enough(name, amount, device.capacity.find(name)->second, taken, taken_now)) return Fit::kNotEnough;
  }
  return Fit::kFits;
}

std::string DescribeMisfit(const api::DeviceRequest& request, const api::Device& device, const Amounts* taken,
                           const Rules& rules) {
  for (const auto& [name, amount] : request.capacity.value_or(Amounts())) {
    if (!device.capacity.contains(name)) return Format("it has no capacity {}, which the request names", name);
  }
  for (const auto& [name, amount] : Consumed(request, device, rules).value_or(Amounts())) {
    const api::CapacityPolicy* policy = PolicyOf(device, name);
    if (policy != nullptr && !Allowed(amount, *policy, rules)) {
      return Format("{} of capacity {} is no amount that its request policy allows", amount.ToString(), name);
    }
    const Quantity& value = device.capacity.find(name)->second;
    if (Enough(name, amount, value, taken, nullptr)) continue;
    Quantity left = value;
    if (const Quantity* held = Find(taken, name)) left.Sub(*held);
    return Format("it would take {} of capacity {}, but of {} only {} is left", amount.ToString(), name,
                  value.ToString(), left.ToString());
  }
  return "its capacity does not fit";
}

}  // namespace tessera::alloc
