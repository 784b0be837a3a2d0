#include "inspect/explain_together.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "alloc/constraints.h"
#include "base/text.h"

namespace tessera::inspect {
namespace {

using Requests = std::vector<const alloc::RequestVerdict*>;
using DeviceKey = std::tuple<std::string_view, std::string_view, std::string_view>;  // Driver, pool, name.
using UsableDevices = std::map<DeviceKey, const api::Device*>;

DeviceKey KeyOf(const alloc::DeviceVerdict& verdict) { return {verdict.driver, verdict.pool, verdict.device}; }

std::size_t Usable(const alloc::RequestVerdict& request) {
  return static_cast<std::size_t>(
      std::ranges::count(request.devices, alloc::Obstacle::kNone, &alloc::DeviceVerdict::obstacle));
}

// Whether each main request has enough devices in itself or in one of its alternatives.
bool EachHasEnough(const alloc::Explanation& explanation) {
  std::map<std::pair<std::string, std::string_view>, bool> enough;
  for (const alloc::RequestVerdict& request : explanation.requests) {
    enough[{api::ToText(request.claim), api::MainRequest(request.request)}] |= HasEnough(request);
  }
  return std::ranges::all_of(enough, [](const auto& one) { return one.second; });
}

struct Printer {
  std::string operator()(std::int64_t value) const { return Format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const api::Version& value) const { return value.text; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::vector<std::string> texts;
    for (const T& value : values) texts.push_back((*this)(value));
    return Format("[{}]", Join(texts, ", "));
  }
};

// The attribute by its full name or, in the driver's own domain, by its id; as alloc/constraints.h has it.
const api::Attribute* Find(const alloc::DeviceVerdict& verdict, const alloc::AttributeName& name) {
  const auto& attributes = verdict.published->attributes;
  if (const auto full = attributes.find(name.full); full != attributes.end()) return &full->second;
  if (name.domain != verdict.driver) return nullptr;
  const auto own = attributes.find(name.id);
  return own != attributes.end() ? &own->second : nullptr;
}

// "pci0000:00 ×2, pci0000:80 ×2": the values of usable devices, the most frequent first. Alike are "×2, ×2".
Conflict Values(const Requests& requests, const std::string& attribute) {
  constexpr std::size_t kShown = 6;
  const alloc::AttributeName name(attribute);
  std::map<std::string, std::set<DeviceKey>> devices;
  for (const alloc::RequestVerdict* request : requests) {
    for (const alloc::DeviceVerdict& verdict : request->devices) {
      const api::Attribute* value = verdict.obstacle == alloc::Obstacle::kNone ? Find(verdict, name) : nullptr;
      if (value != nullptr) devices[std::visit(Printer{}, *value)].insert(KeyOf(verdict));
    }
  }
  std::vector<std::pair<std::size_t, std::string>> counts;
  for (const auto& [value, which] : devices) counts.emplace_back(which.size(), value);
  std::ranges::stable_sort(counts, std::greater(), &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> texts, forms;
  for (const auto& [count, value] : counts) {
    if (texts.size() < kShown) texts.push_back(Format("{} ×{}", value, count));
    forms.push_back(Format("×{}", count));
  }
  if (counts.size() > kShown) texts.push_back(Format("and {} other values", counts.size() - kShown));
  return {.text = Join(texts, ", "), .likeness = Join(forms, ", ")};
}

bool Covers(const api::Constraint& constraint, const alloc::RequestVerdict& request) {
  if (constraint.requests.empty()) return true;
  return std::ranges::any_of(constraint.requests, [&](const std::string& name) {
    return name == request.request || name == api::MainRequest(request.request);
  });
}

std::string_view WantedValues(bool match, const alloc::Rules& rules) {
  if (rules.constraints_compare_sets) return match ? "a value in common" : "no value in common";
  return match ? "one value" : "different values";
}

Conflict DescribeConstraint(const api::Constraint& constraint, const Requests& covered, const alloc::Rules& rules) {
  std::int64_t wanted = 0;
  for (const alloc::RequestVerdict* request : covered) {
    if (!request->request.contains('/')) wanted += request->asked->count;
  }
  const bool match = constraint.match_attribute.has_value();
  const std::string& attribute = match ? *constraint.match_attribute : *constraint.distinct_attribute;
  const std::string many = wanted > 0 ? Format("{} devices", wanted) : "all devices";
  const std::string rule = Format("{} {}: {} must have {}", match ? "matchAttribute" : "distinctAttribute", attribute,
                                  many, WantedValues(match, rules));
  const Conflict values = Values(covered, attribute);
  return {.text = Format("{}; usable devices have {}", rule, values.text),
          .likeness = Format("{}; {}", rule, values.likeness)};
}

void AddConstraints(const Situation& situation, const alloc::Explanation& explanation, std::vector<Conflict>& lines) {
  for (const alloc::Claim& claim : situation.claims) {
    for (const api::Constraint& constraint : claim.spec.constraints) {
      if (!constraint.match_attribute && !constraint.distinct_attribute) continue;
      Requests covered;
      for (const alloc::RequestVerdict& request : explanation.requests) {
        if (request.claim == claim.ref && Covers(constraint, request)) covered.push_back(&request);
      }
      lines.push_back(DescribeConstraint(constraint, covered, situation.rules));
    }
  }
}

UsableDevices UsableOf(const alloc::Explanation& explanation) {
  UsableDevices usable;
  for (const alloc::RequestVerdict& request : explanation.requests) {
    for (const alloc::DeviceVerdict& verdict : request.devices) {
      if (verdict.obstacle != alloc::Obstacle::kNone) continue;
      usable.emplace(KeyOf(verdict), verdict.published);
    }
  }
  return usable;
}

// What usable devices of a pool take of a counter, all together.
Quantity TakenTogether(const alloc::PoolVerdict& pool, const alloc::PoolCounter& counter, const UsableDevices& usable) {
  Quantity sum;
  for (const auto& [key, device] : usable) {
    if (std::get<0>(key) != pool.driver || std::get<1>(key) != pool.pool) continue;
    for (const auto& set : device->consumes_counters) {
      if (set.set != counter.set) continue;
      if (const auto found = set.values.find(std::string(counter.name)); found != set.values.end()) {
        sum.Add(found->second);
      }
    }
  }
  return sum;
}

// "each device would do, but …: gpu-0/slices has 7 left, and they take 8"; empty when no counter is too small for all.
std::string DescribeCounters(const alloc::Explanation& explanation, const UsableDevices& usable) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> short_of;
  for (const alloc::PoolVerdict& pool : explanation.pools) {
    for (const alloc::PoolCounter& counter : pool.counters) {
      const Quantity taken = TakenTogether(pool, counter, usable);
      if (taken <= counter.available) continue;
      short_of.push_back(Format("{}/{} has {} left and they take {}", counter.set, counter.name,
                                counter.available.ToString(), taken.ToString()));
    }
  }
  if (short_of.empty()) return {};
  const bool more = short_of.size() > kShown;
  if (more) short_of.resize(kShown);
  return Format("usable devices share counters, which are too small for all of them: {}{}", Join(short_of, ", "),
                more ? ", …" : "");
}

}  // namespace

bool HasEnough(const alloc::RequestVerdict& request) {
  if (request.asked->allocation_mode == "All") {
    const auto passed_over =
        std::ranges::count(request.devices, alloc::Obstacle::kSelector, &alloc::DeviceVerdict::obstacle);
    const std::size_t usable = Usable(request);
    return usable > 0 && usable + static_cast<std::size_t>(passed_over) == request.devices.size();
  }
  return Usable(request) >= static_cast<std::size_t>(std::max<std::int64_t>(request.asked->count, 0));
}

std::vector<Conflict> WhyNotTogether(const Situation& situation, const alloc::Explanation& explanation) {
  if (!EachHasEnough(explanation)) return {};
  std::vector<Conflict> conflicts;
  const auto add = [&](const std::string& text) { conflicts.push_back({.text = text, .likeness = text}); };
  AddConstraints(situation, explanation, conflicts);
  std::int64_t wanted = 0;
  for (const alloc::RequestVerdict& request : explanation.requests) {
    if (!request.request.contains('/') && !request.asked->admin_access.value_or(false)) wanted += request.asked->count;
  }
  const UsableDevices usable = UsableOf(explanation);
  if (std::cmp_greater(wanted, usable.size())) {
    add(Format("the requests want {} devices together, and {} {} usable", wanted, usable.size(),
               usable.size() == 1 ? "is" : "are"));
  } else if (const std::string counters = DescribeCounters(explanation, usable); !counters.empty()) {
    add(counters);
  }
  if (conflicts.empty()) add("each request has enough devices, but the requests want the same ones");
  return conflicts;
}

}  // namespace tessera::inspect
