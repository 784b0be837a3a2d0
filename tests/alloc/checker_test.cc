// The checker is worth what it sees: each rule is broken once in allocations that keep it.
#include "tests/alloc/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/alloc/generator.h"

namespace tessera::tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A problem and its allocations, to be made wrong.
struct Solved {
  AllocationProblem problem;
  std::vector<api::Allocation> allocations;

  api::AllocationResult& result() { return allocations.front().results.front(); }

  api::ResourceSlice* slice() {
    for (api::ResourceSlice& slice : problem.slices) {
      const bool pool = slice.driver == result().driver && slice.pool_name == result().pool;
      const auto found = std::ranges::find(slice.devices, result().device, &api::Device::name);
      if (pool && found != slice.devices.end()) return &slice;
    }
    return nullptr;
  }
  api::Device& device() { return *std::ranges::find(slice()->devices, result().device, &api::Device::name); }

  // Null when the first result's request is one of several alternatives.
  api::DeviceRequest* request() {
    auto& requests = problem.claims.front().spec.requests;
    const auto found = std::ranges::find(requests, result().request, &api::ClaimRequest::name);
    return found == requests.end() ? nullptr : &*found->exactly;
  }
};

// Breaks one rule; false where it cannot be broken this way.
struct Mutation {
  std::string_view rule;
  std::string_view complaint;
  bool (*apply)(Solved& solved);
};

void OnlyReach(api::ResourceSlice& slice, const api::Reach& reach) {
  slice.node_name = reach.node_name;
  slice.all_nodes = reach.all_nodes;
  slice.node_selector = reach.node_selector;
  slice.per_device_node_selection = false;
}

api::NodeSelector InZone(std::string_view zone) {
  return {.terms = {{.match_expressions = {{.key = "zone", .op = "In", .values = {std::string(zone)}}}}}};
}

// The first two results of a claim whose constraint is of this kind, and names all of its requests.
bool Constrained(Solved& solved, bool match) {
  const auto& constraints = solved.problem.claims.front().spec.constraints;
  return solved.allocations.front().results.size() > 1 && std::ranges::any_of(constraints, [&](const auto& each) {
           return each.requests.empty() && each.match_attribute.has_value() == match;
         });
}

void SetEverywhere(Solved& solved, const std::string& attribute, const std::string& value) {
  for (api::ResourceSlice& slice : solved.problem.slices) {
    for (api::Device& device : slice.devices) device.attributes[attribute] = value;
  }
}

constexpr Mutation kMutations[] = {
    {"one allocation a claim", "not one allocation a claim",
     [](Solved& s) {
       s.allocations.emplace_back();
       return true;
     }},
    {"as many devices as were asked for", "devices instead of",
     [](Solved& s) {
       if (s.request() == nullptr || s.request()->allocation_mode != "ExactCount") return false;
       s.request()->count += 1;
       return true;
     }},
    {"every request is served", "is served by 0 alternatives",
     [](Solved& s) {
       s.allocations.front().results.clear();
       return true;
     }},
    {"only what was asked for", "nobody asked for",
     [](Solved& s) {
       const std::string request = s.result().request;
       for (auto& result : s.allocations.front().results) {
         if (result.request == request) result.request += "/nobody";
       }
       return true;
     }},
    {"no more than the API allows", "more than 32 devices",
     [](Solved& s) {
       const api::AllocationResult extra = s.result();
       s.allocations.front().results.resize(33, extra);
       return true;
     }},
    {"All is all", "is left out",
     [](Solved& s) {
       auto& results = s.allocations.front().results;
       if (s.request() == nullptr || s.request()->allocation_mode != "All" || results.size() < 2) return false;
       if (results[1].request != results[0].request) return false;
       results.erase(results.begin());
       return true;
     }},
    {"devices exist", "does not exist",
     [](Solved& s) {
       s.result().device = "no-such-device";
       return true;
     }},
    {"admin access as asked", "admin access",
     [](Solved& s) {
       s.result().admin_access = !s.result().admin_access;
       return true;
     }},
    {"selectors of the request", "does not match false",
     [](Solved& s) {
       if (s.request() == nullptr) return false;
       s.request()->selectors.push_back({.cel = "false"});
       return true;
     }},
    {"selectors of the class", "does not match 1 == 2",
     [](Solved& s) {
       for (auto& [name, device_class] : s.problem.classes) device_class.selectors.push_back({.cel = "1 == 2"});
       return true;
     }},
    {"reach by the node's name", "is not on this node",
     [](Solved& s) {
       OnlyReach(*s.slice(), {.node_name = "m"});
       return true;
     }},
    {"reach by labels", "is not on this node",
     [](Solved& s) {
       OnlyReach(*s.slice(), {.node_selector = InZone("z2")});
       return true;
     }},
    {"reach by device", "is not on this node",
     [](Solved& s) {
       OnlyReach(*s.slice(), {});
       s.slice()->per_device_node_selection = true;
       s.device().reach = {.node_selector = InZone("z2")};
       return true;
     }},
    {"the newest generation", "is of an old generation",
     [](Solved& s) {
       api::ResourceSlice newer = *s.slice();
       newer.pool_generation += 1;
       newer.devices.clear();
       OnlyReach(newer, {.all_nodes = true});
       s.problem.slices.push_back(newer);
       return true;
     }},
    {"complete pools", "is in an incomplete pool",
     [](Solved& s) {
       for (api::ResourceSlice& slice : s.problem.slices) slice.pool_slice_count += 7;
       return true;
     }},
    {"taints", "taint fresh",
     [](Solved& s) {
       if (s.request() == nullptr || !s.request()->tolerations.empty()) return false;
       s.device().taints.push_back({.key = "fresh", .value = "", .effect = "NoExecute"});
       return true;
     }},
    {"tolerations are handed on", ": tolerations",
     [](Solved& s) {
       s.result().tolerations.push_back({.key = "fresh"});
       return true;
     }},
    {"binding conditions are handed on", ": binding conditions",
     [](Solved& s) {
       s.result().binding_conditions.emplace_back("x.io/other");
       return true;
     }},
    {"shares have ids", ": share id",
     [](Solved& s) {
       if (!s.result().share_id) return false;
       s.result().share_id.reset();
       return true;
     }},
    {"only shares have ids", ": share id",
     [](Solved& s) {
       if (s.result().share_id) return false;
       s.result().share_id = "1";
       return true;
     }},
    {"the least amount that is allowed", "consumes another amount",
     [](Solved& s) {
       if (s.result().consumed_capacity.empty()) return false;
       s.result().consumed_capacity.begin()->second.Add(Quantity::FromInteger(1));
       return true;
     }},
    {"an amount that the policy allows", "no amount of memory is allowed",
     [](Solved& s) {
       if (s.request() == nullptr || !s.request()->capacity || !s.request()->capacity->contains("memory")) return false;
       s.device().capacity_policies["memory"] = {.valid_values = {Quantity::FromInteger(1)}};
       return true;
     }},
    {"no more than there is", " of memory",
     [](Solved& s) {
       if (!s.result().consumed_capacity.contains("memory")) return false;
       api::AllocationResult other = s.result();
       other.consumed_capacity = s.device().capacity;
       s.problem.allocated.push_back(other);
       return true;
     }},
    {"match has the attribute", "has no",
     [](Solved& s) {
       s.problem.claims.front().spec.constraints.push_back({.match_attribute = "no.such/attribute"});
       return true;
     }},
    {"match is one value", ": another ",
     [](Solved& s) {
       if (!Constrained(s, true)) return false;
       for (const auto& constraint : s.problem.claims.front().spec.constraints) {
         if (!constraint.match_attribute) continue;
         s.device().attributes[*constraint.match_attribute] = std::string("another");
       }
       return true;
     }},
    {"distinct is as many values as devices", ": the same ",
     [](Solved& s) {
       if (!Constrained(s, false)) return false;
       for (const auto& constraint : s.problem.claims.front().spec.constraints) {
         if (constraint.distinct_attribute) SetEverywhere(s, *constraint.distinct_attribute, "same");
       }
       return true;
     }},
    {"one claim a device", "given twice",
     [](Solved& s) {
       if (s.result().share_id || s.result().admin_access) return false;
       s.problem.allocated.push_back(s.result());
       return true;
     }},
    {"one request a device", "twice in a claim",
     [](Solved& s) {
       if (s.result().share_id) return false;
       s.allocations.front().results.push_back(s.result());
       return true;
     }},
    {"counters", "is overdrawn",
     [](Solved& s) {
       if (s.device().consumes_counters.empty()) return false;
       for (api::Counters& set : s.device().consumes_counters) {
         for (auto& [name, value] : set.values) value.Add(Quantity::FromInteger(1'000'000));
       }
       return true;
     }},
    {"nodes that reach the devices only", "twin is let in",
     [](Solved& s) {
       if (s.slice()->node_name.empty()) return false;
       s.allocations.front().node_selector.reset();
       return true;
     }},
    {"all nodes that reach the devices", "is kept out",
     [](Solved& s) {
       s.allocations.front().node_selector = InZone("z9");
       return true;
     }},
};

// Solutions to break: both kinds of problems, and enough that every rule is in some of them.
std::vector<Solved> Solutions(const alloc::Rules& rules) {
  std::vector<Solved> solutions;
  for (const ProblemKind& kind : kProblemKinds) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      AllocationProblem problem = DecodeProblem(kind.generate(seed)).value();
      auto outcome = Solve(problem, rules);
      if (!outcome || !outcome->allocated || outcome->allocations.front().results.empty()) continue;
      solutions.push_back({.problem = std::move(problem), .allocations = std::move(outcome->allocations)});
    }
  }
  return solutions;
}

TEST(AllocationChecker, SeesEachRuleBroken) {
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  const std::vector<Solved> solutions = Solutions(rules);
  for (const Mutation& mutation : kMutations) {
    SCOPED_TRACE(mutation.rule);
    std::size_t broken = 0;
    for (const Solved& right : solutions) {
      Solved wrong = right;
      if (!mutation.apply(wrong)) continue;
      ++broken;
      ASSERT_THAT(Violations(wrong.problem, wrong.allocations, rules),
                  Contains(HasSubstr(std::string(mutation.complaint))));
    }
    EXPECT_GE(broken, 3U) << "the rule must have been in some problems";
  }
}

}  // namespace
}  // namespace tessera::tests
