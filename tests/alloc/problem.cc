#include "tests/alloc/problem.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::tests {
namespace {

struct Metadata {
  std::string name, namespace_name, uid;
  std::map<std::string, std::string> labels;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Required("name", m.name);
  f.Optional("namespace", m.namespace_name);
  f.Optional("uid", m.uid);
  f.Optional("labels", m.labels);
}

struct Named {
  Metadata metadata;
  json::Value spec;
};
template <class F>
void Describe(F& f, Named& n) {
  f.Required("metadata", n.metadata);
  f.Optional("spec", n.spec);
}

struct Document {
  Named node;
  std::vector<json::Value> classes, slices, allocated;
  std::vector<Named> claims;
  std::map<std::string, bool> gates;
};
template <class F>
void Describe(F& f, Document& d) {
  f.Required("node", d.node);
  f.Optional("classes", d.classes);
  f.Optional("slices", d.slices);
  f.Optional("allocated", d.allocated);
  f.Required("claims", d.claims);
  f.Optional("gates", d.gates);
}

// Through the door that claims of a server come in.
Result<std::vector<api::AllocationResult>> DecodeAllocated(const std::vector<json::Value>& results) {
  const json::Value claim{
      {"metadata", {{"name", "other"}, {"namespace", "default"}, {"uid", "1"}}},
      {"status", {{"allocation", {{"devices", {{"results", json::Array(results.begin(), results.end())}}}}}}}};
  TESSERA_ASSIGN(const api::ResourceClaim decoded, api::DecodeClaim(claim));
  return decoded.allocation->results;
}

// FNV-1a.
std::string ShortHash(std::string_view text) {
  std::uint32_t hash = 2166136261;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return Format("#{:08x}", hash);
}

std::string Amounts(const std::map<std::string, Quantity>& amounts) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : amounts) parts.push_back(Format("{}={}", name, amount.ToString()));
  return Join(parts, ",");
}

std::string Requirements(const std::vector<api::NodeSelectorRequirement>& requirements) {
  std::vector<std::string> parts;
  for (const auto& r : requirements) parts.push_back(Format("{} {} {}", r.key, r.op, Join(r.values, ",")));
  return Join(parts, ",");
}

std::string Devices(const api::Allocation& allocation) {
  std::vector<std::string> parts;
  for (const api::AllocationResult& r : allocation.results) {
    parts.push_back(Format("{}={}/{}/{}{}{}", r.request, r.driver, r.pool, r.device, r.admin_access ? "*" : "",
                           r.share_id ? "%" : ""));
  }
  return Join(parts, " ");
}

std::string Details(const api::Allocation& allocation) {
  std::string text;
  for (const api::AllocationResult& r : allocation.results) {
    text += Format("[{} {} {} {}]", Amounts(r.consumed_capacity), r.tolerations.size(), Join(r.binding_conditions, ","),
                   Join(r.binding_failure_conditions, ","));
  }
  for (const api::AllocationConfig& config : allocation.configs) {
    text += Format("{{{} {} {} {}}}", config.source, Join(config.requests, ","), config.driver,
                   config.driver.empty() ? "" : json::PrintJson(config.parameters));
  }
  if (!allocation.node_selector) return text;
  for (const api::NodeSelectorTerm& term : allocation.node_selector->terms) {
    text += Format("<{}|{}>", Requirements(term.match_fields), Requirements(term.match_expressions));
  }
  return text;
}

}  // namespace

Result<AllocationProblem> DecodeProblem(const json::Value& value) {
  TESSERA_ASSIGN(Document document, json::Decode<Document>(value));
  AllocationProblem problem{
      .node = {.name = document.node.metadata.name, .labels = std::move(document.node.metadata.labels)}};
  for (const json::Value& slice : document.slices) {
    TESSERA_ASSIGN(auto decoded, api::DecodeSlice(slice));
    problem.slices.push_back(std::move(decoded));
  }
  for (const json::Value& object : document.classes) {
    TESSERA_ASSIGN(auto decoded, api::DecodeDeviceClass(object));
    problem.classes.emplace(decoded.name, decoded);
  }
  TESSERA_ASSIGN(problem.allocated, DecodeAllocated(document.allocated));
  for (const Named& claim : document.claims) {
    TESSERA_ASSIGN(auto spec, api::DecodeClaimSpec(claim.spec));
    const Metadata& m = claim.metadata;
    problem.claims.push_back({.ref = {m.namespace_name, m.name, m.uid}, .spec = std::move(spec)});
  }
  problem.gates = std::move(document.gates);
  return problem;
}

cel::Release ReleaseOf(std::string_view name) {
  if (name == "1.34") return cel::Release::k1_34;
  if (name == "1.35") return cel::Release::k1_35;
  if (name == "1.36") return cel::Release::k1_36;
  if (name == "1.37") return cel::Release::k1_37;
  Abort(Format("there is no release {}", name));
}

cel::SelectorCache& SelectorsOf(const alloc::Rules& rules) {
  static std::map<std::pair<cel::Release, bool>, cel::SelectorCache> caches;
  return caches.try_emplace({rules.release, rules.gates.list_type_attributes}, alloc::SelectorsUnder(rules))
      .first->second;
}

alloc::Rules RulesOf(const AllocationProblem& problem, cel::Release release) {
  alloc::Gates gates = alloc::DefaultGates(release);
  for (const auto& [name, on] : problem.gates) {
    const auto* known = std::ranges::find(alloc::kNamedGates, name, &alloc::NamedGate::name);
    if (known == alloc::kNamedGates.end()) Abort(Format("there is no gate {}", name));
    gates.*known->flag = on;
  }
  return alloc::RulesFor(release, gates);
}

Result<alloc::Outcome> Solve(const AllocationProblem& problem, const alloc::Rules& rules,
                             const alloc::SearchLimits& limits) {
  const alloc::Inventory inventory(problem.slices);
  alloc::AllocatedState allocated(rules.gates);
  for (const api::AllocationResult& result : problem.allocated) allocated.Add(result);
  const alloc::Allocator allocator(inventory, allocated, problem.classes, SelectorsOf(rules), rules,
                                   [] { return std::string("11111111-2222-4333-8444-555555555555"); });
  return allocator.Allocate(problem.node, problem.claims, limits);
}

std::string AnswerOf(const Result<alloc::Outcome>& outcome) {
  if (!outcome) return Format("E {}", ShortHash(DetailsOf(outcome)));
  if (!outcome->allocated) return outcome->reason.starts_with("invalid") ? "!" : "-";
  std::vector<std::string> parts;
  for (const api::Allocation& allocation : outcome->allocations) parts.push_back(Devices(allocation));
  return Format("{} {}", Join(parts, "; "), ShortHash(DetailsOf(outcome)));
}

std::string DetailsOf(const Result<alloc::Outcome>& outcome) {
  if (!outcome) return outcome.error().message();
  std::vector<std::string> parts;
  for (const api::Allocation& allocation : outcome->allocations) parts.push_back(Details(allocation));
  return Join(parts, ";");
}

}  // namespace tessera::tests
