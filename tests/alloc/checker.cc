#include "tests/alloc/checker.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/device_facts.h"
#include "base/text.h"
#include "tests/alloc/offer.h"

namespace tessera::tests {
namespace {

using DeviceId = std::tuple<std::string, std::string, std::string>;

DeviceId IdOf(const api::AllocationResult& result) { return {result.driver, result.pool, result.device}; }

class Checker {
 public:
  Checker(const AllocationProblem& problem, const std::vector<api::Allocation>& allocations, const alloc::Rules& rules)
      : problem_(problem), allocations_(allocations), rules_(rules) {}

  std::vector<std::string> Check() {
    if (allocations_.size() != problem_.claims.size()) return {"not one allocation a claim"};
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
      CheckCounts(problem_.claims[i], allocations_[i]);
      for (const api::AllocationResult& result : allocations_[i].results) CheckDevice(problem_.claims[i], result);
    }
    if (unknown_device_) return std::move(violations_);  // The rest looks at devices.
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
      for (const api::Constraint& constraint : problem_.claims[i].spec.constraints) {
        CheckConstraint(constraint, allocations_[i]);
      }
      CheckNodeSelector(allocations_[i]);
    }
    CheckExclusive();
    CheckCapacity();
    CheckCounters();
    return std::move(violations_);
  }

 private:
  void Fail(std::string what) { violations_.push_back(std::move(what)); }

  static std::string Name(const api::AllocationResult& r) {
    return Format("{}={}/{}/{}", r.request, r.driver, r.pool, r.device);
  }

  const api::ResourceSlice* SliceOf(const api::AllocationResult& result, const api::Device** device) const {
    const api::ResourceSlice* found = nullptr;
    for (const api::ResourceSlice& slice : problem_.slices) {
      if (slice.driver != result.driver || slice.pool_name != result.pool) continue;
      if (found != nullptr && slice.pool_generation < found->pool_generation) continue;
      const auto match = std::ranges::find(slice.devices, result.device, &api::Device::name);
      if (match == slice.devices.end()) continue;
      found = &slice;
      *device = &*match;
    }
    return found;
  }

  static const api::DeviceRequest* RequestOf(const alloc::Claim& claim, std::string_view full) {
    for (const api::ClaimRequest& request : claim.spec.requests) {
      if (request.exactly && request.name == full) return &*request.exactly;
      for (const api::DeviceRequest& sub : request.first_available) {
        if (Format("{}/{}", request.name, sub.name) == full) return &sub;
      }
    }
    return nullptr;
  }

  void CheckCounts(const alloc::Claim& claim, const api::Allocation& allocation) {
    if (allocation.results.size() > 32) Fail("more than 32 devices");
    for (const api::ClaimRequest& request : claim.spec.requests) {
      std::set<std::string> names;
      std::int64_t count = 0;
      for (const api::AllocationResult& result : allocation.results) {
        if (api::MainRequest(result.request) != request.name) continue;
        names.insert(result.request);
        ++count;
      }
      if (names.size() != 1) {
        Fail(Format("request {} is served by {} alternatives", request.name, names.size()));
        continue;
      }
      const api::DeviceRequest* asked = RequestOf(claim, *names.begin());
      if (asked == nullptr) {
        Fail(Format("nobody asked for {}", *names.begin()));
      } else if (asked->allocation_mode == "All") {
        CheckAll(*asked, *names.begin(), allocation);
      } else if (count != asked->count) {
        Fail(Format("{} has {} devices instead of {}", *names.begin(), count, asked->count));
      }
    }
  }

  void CheckAll(const api::DeviceRequest& asked, const std::string& name, const api::Allocation& allocation) {
    for (const api::ResourceSlice& slice : problem_.slices) {
      if (PoolFaultOf(problem_, slice) != PoolFault::kNone) continue;
      for (const api::Device& device : slice.devices) {
        const DeviceId id{slice.driver, slice.pool_name, device.name};
        const bool given = std::ranges::any_of(
            allocation.results, [&](const auto& result) { return result.request == name && IdOf(result) == id; });
        if (given || !Reaches(slice, device, problem_.node) || !HasAmounts(asked, device)) continue;
        if (UnmetSelector(asked, device, slice.driver) || (rules_.all_shrinks && IsShared(id))) continue;
        Fail(Format("{} asks for all devices, but {}/{}/{} is left out", name, slice.driver, slice.pool_name,
                    device.name));
      }
    }
  }

  bool IsShared(const DeviceId& id) const {
    return std::ranges::any_of(problem_.allocated,
                               [&](const auto& other) { return other.share_id && IdOf(other) == id; });
  }

  void CheckDevice(const alloc::Claim& claim, const api::AllocationResult& result) {
    const api::Device* device = nullptr;
    const api::ResourceSlice* slice = SliceOf(result, &device);
    const api::DeviceRequest* request = RequestOf(claim, result.request);
    unknown_device_ = unknown_device_ || slice == nullptr;
    if (slice == nullptr || request == nullptr) return Fail(Format("{} does not exist", Name(result)));
    if (result.admin_access != request->admin_access.value_or(false)) Fail(Format("{}: admin access", Name(result)));
    if (const auto selector = UnmetSelector(*request, *device, result.driver)) {
      Fail(Format("{} does not match {}", Name(result), *selector));
    }
    if (!Reaches(*slice, *device, problem_.node)) Fail(Format("{} is not on this node", Name(result)));
    CheckPool(*slice, result);
    for (const api::Taint& taint : device->taints) {
      if (taint.effect != "None" && !Tolerated(taint, *request)) Fail(Format("{}: taint {}", Name(result), taint.key));
    }
    if (device->allow_multiple_allocations != result.share_id.has_value()) Fail(Format("{}: share id", Name(result)));
    CheckAmounts(*request, *device, result);
    if (result.tolerations != request->tolerations) Fail(Format("{}: tolerations", Name(result)));
    if (result.binding_conditions != device->binding_conditions ||
        result.binding_failure_conditions != device->binding_failure_conditions) {
      Fail(Format("{}: binding conditions", Name(result)));
    }
  }

  void CheckPool(const api::ResourceSlice& slice, const api::AllocationResult& result) {
    const PoolFault fault = PoolFaultOf(problem_, slice);
    if (fault == PoolFault::kOldGeneration) Fail(Format("{} is of an old generation", Name(result)));
    if (fault == PoolFault::kIncomplete) Fail(Format("{} is in an incomplete pool", Name(result)));
  }

  void CheckAmounts(const api::DeviceRequest& request, const api::Device& device, const api::AllocationResult& result) {
    std::map<std::string, Quantity> wanted;
    for (const auto& [name, value] : device.capacity) {
      const auto amount = AmountFor(request, device, name);
      if (!amount) return Fail(Format("{}: no amount of {} is allowed and enough", Name(result), name));
      if (result.share_id) wanted.emplace(name, *amount);
    }
    if (wanted != result.consumed_capacity) Fail(Format("{}: consumes another amount than it must", Name(result)));
  }

  std::optional<std::string> UnmetSelector(const api::DeviceRequest& request, const api::Device& device,
                                           const std::string& driver) const {
    std::vector<api::Selector> selectors = problem_.classes.at(request.device_class).selectors;
    selectors.insert(selectors.end(), request.selectors.begin(), request.selectors.end());
    for (const api::Selector& selector : selectors) {
      const auto compiled = SelectorsOf(rules_).Get(*selector.cel);
      if (!compiled->Matches(api::FactsOf(device, driver)).value_or(false)) return selector.cel;
    }
    return std::nullopt;
  }

  static bool Tolerated(const api::Taint& taint, const api::DeviceRequest& request) {
    return std::ranges::any_of(request.tolerations, [&](const api::Toleration& t) {
      const bool value = t.op == "Exists" || t.value == taint.value;
      return (t.key.empty() || t.key == taint.key) && (t.effect.empty() || t.effect == taint.effect) && value;
    });
  }

  void CheckConstraint(const api::Constraint& constraint, const api::Allocation& allocation) {
    if (constraint.distinct_attribute && rules_.distinct_keeps_last_only) return;
    const std::string name = constraint.match_attribute ? *constraint.match_attribute : *constraint.distinct_attribute;
    std::vector<const api::Attribute*> values;
    for (const api::AllocationResult& result : allocation.results) {
      const auto named = [&](const std::string& n) {
        return n == result.request || n == api::MainRequest(result.request);
      };
      if (!constraint.requests.empty() && std::ranges::none_of(constraint.requests, named)) continue;
      const api::Device* device = nullptr;
      SliceOf(result, &device);
      auto value = device->attributes.find(name);
      const bool own = name.starts_with(result.driver + "/");
      if (value == device->attributes.end() && own)
        value = device->attributes.find(name.substr(result.driver.size() + 1));
      if (value == device->attributes.end()) return Fail(Format("{} has no {}", Name(result), name));
      for (const api::Attribute* other : values) {
        const bool equal = *other == value->second;
        if (equal && constraint.distinct_attribute) Fail(Format("{}: the same {}", Name(result), name));
        if (!equal && constraint.match_attribute) Fail(Format("{}: another {}", Name(result), name));
      }
      values.push_back(&value->second);
    }
  }

  // It lets exactly those nodes in that reach every device; this one alone, when a device binds to it.
  void CheckNodeSelector(const api::Allocation& allocation) {
    const std::vector<alloc::Node> nodes{
        problem_.node,
        {.name = "m", .labels = {{"zone", "z2"}}},
        {.name = "twin", .labels = problem_.node.labels},
        {.name = "bare", .labels = {}},
    };
    for (const alloc::Node& node : nodes) {
      const bool reaches = std::ranges::all_of(allocation.results, [&](const api::AllocationResult& result) {
        const api::Device* device = nullptr;
        const api::ResourceSlice* slice = SliceOf(result, &device);
        return Reaches(*slice, *device, node) && (!device->binds_to_node || node.name == problem_.node.name);
      });
      const bool let_in = !allocation.node_selector || Selects(*allocation.node_selector, node);
      if (reaches != let_in) Fail(Format("node selector: {} is {}", node.name, let_in ? "let in" : "kept out"));
    }
  }

  // A device that is not shared belongs to one claim, and to one request of it; admin access aside.
  void CheckExclusive() {
    std::map<DeviceId, int> holders;
    for (const api::AllocationResult& other : problem_.allocated) {
      if (!other.admin_access && !other.share_id) ++holders[IdOf(other)];
    }
    for (const api::Allocation& allocation : allocations_) {
      std::set<DeviceId> own;
      for (const api::AllocationResult& result : allocation.results) {
        if (result.share_id) continue;
        if (!own.insert(IdOf(result)).second) Fail(Format("{}: twice in a claim", Name(result)));
        if (!result.admin_access && ++holders[IdOf(result)] > 1) Fail(Format("{}: given twice", Name(result)));
      }
    }
  }

  void CheckCapacity() {
    std::map<DeviceId, std::map<std::string, Quantity>> consumed;
    const auto add = [&](const api::AllocationResult& result) {
      for (const auto& [name, amount] : result.consumed_capacity) consumed[IdOf(result)][name].Add(amount);
    };
    for (const api::AllocationResult& other : problem_.allocated) add(other);
    for (const api::Allocation& allocation : allocations_) std::ranges::for_each(allocation.results, add);
    for (const api::Allocation& allocation : allocations_) {
      for (const api::AllocationResult& result : allocation.results) {
        const api::Device* device = nullptr;
        SliceOf(result, &device);
        for (const auto& [name, amount] : consumed[IdOf(result)]) {
          if (device->capacity.contains(name) && amount > device->capacity.at(name)) {
            Fail(Format("{}: {} of {}", Name(result), amount.ToString(), name));
          }
        }
      }
    }
  }

  // Each device takes its counters once, however many hold a share of it.
  void CheckCounters() {
    std::set<DeviceId> taken;
    for (const api::AllocationResult& other : problem_.allocated) {
      if (!other.admin_access) taken.insert(IdOf(other));
    }
    std::set<std::pair<std::string, std::string>> pools;
    for (const api::Allocation& allocation : allocations_) {
      for (const api::AllocationResult& result : allocation.results) {
        taken.insert(IdOf(result));
        const api::Device* device = nullptr;
        SliceOf(result, &device);
        if (!device->consumes_counters.empty()) pools.emplace(result.driver, result.pool);
      }
    }
    for (const auto& [driver, pool] : pools) CheckPoolCounters(driver, pool, taken);
  }

  void CheckPoolCounters(const std::string& driver, const std::string& pool, const std::set<DeviceId>& taken) {
    std::map<std::pair<std::string, std::string>, Quantity> left;
    for (const api::ResourceSlice& slice : problem_.slices) {
      if (slice.driver != driver || slice.pool_name != pool) continue;
      for (const api::Counters& set : slice.shared_counters) {
        for (const auto& [name, value] : set.values) left[{set.set, name}].Add(value);
      }
      for (const api::Device& device : slice.devices) {
        if (!taken.contains({driver, pool, device.name})) continue;
        for (const api::Counters& set : device.consumes_counters) {
          for (const auto& [name, value] : set.values) left[{set.set, name}].Sub(value);
        }
      }
    }
    for (const auto& [counter, value] : left) {
      if (value.Sign() < 0)
        Fail(Format("{}/{}: counter {}/{} is overdrawn", driver, pool, counter.first, counter.second));
    }
  }

  const AllocationProblem& problem_;
  const std::vector<api::Allocation>& allocations_;
  const alloc::Rules& rules_;
  std::vector<std::string> violations_;
  bool unknown_device_ = false;
};

}  // namespace

std::vector<std::string> Violations(const AllocationProblem& problem, const std::vector<api::Allocation>& allocations,
                                    const alloc::Rules& rules) {
  return Checker(problem, allocations, rules).Check();
}

}  // namespace tessera::tests
