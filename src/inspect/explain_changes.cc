#include "inspect/explain_changes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "cel/conjuncts.h"
#include "inspect/explain_freeing.h"
#include "inspect/explain_requests.h"
#include "inspect/explain_spelling.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kShown = 5;
constexpr std::size_t kFreeingsShown = 2;
constexpr std::size_t kMaxPairs = 300;
// Devices looked at, over all attempts: a second or two.
constexpr std::size_t kBudget = 2'000'000;

struct Change {
  std::string text;
  std::function<void(Situation&)> make;
  std::string family = {};  // Of changes of one family only the first that helps is of interest.
};

using Changes = std::vector<Change>;

// ---- The kinds of change, from the smallest to the largest.

void AddClasses(const Situation& situation, const NamedRequest& named, Changes& changes) {
  if (situation.classes.contains(named.request->device_class)) return;
  std::vector<std::string_view> names;
  for (const auto& [name, one] : situation.classes) names.push_back(name);
  const auto near = NearMatch(named.request->device_class, names);
  if (!near) return;
  changes.push_back({Format("name class {} instead of {} in {}", *near, named.request->device_class, named.name),
                     [place = named.place, name = std::string(*near)](Situation& changed) {
                       place.In(changed).device_class = name;
                     }});
}

void AddSpellings(const Situation& situation, cel::SelectorCache& selectors, Changes& changes) {
  for (const Misspelling& one : FindMisspellings(situation, selectors)) {
    std::string respelled = cel::Respell(one.expression, one.unknown);
    if (respelled == one.expression) continue;
    std::vector<std::string> words;
    for (const auto& [reference, domain_known, devices, near] : one.unknown) {
      if (!near.empty())
        words.push_back(Format("{} instead of {}", near, domain_known ? reference.id : reference.domain));
    }
    changes.push_back({Format("write {} in selector {} of {}", Join(words, " and "), one.selector, one.owner),
                       [one, respelled = std::move(respelled)](Situation& changed) {
                         auto& list = one.device_class.empty()
                                          ? one.place.In(changed).selectors
                                          : changed.classes.find(one.device_class)->second.selectors;
                         list[one.selector].cel = respelled;
                       }});
  }
}

void AddPools(const Situation& situation, Changes& changes) {
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> newest;  // Generation, slices.
  for (const api::ResourceSlice& slice : *situation.slices) {
    auto& [generation, count] = newest[{slice.driver, slice.pool_name}];
    if (slice.pool_generation > generation) {
      generation = slice.pool_generation;
      count = 0;
    }
    if (slice.pool_generation == generation) ++count;
  }
  for (const auto& [pool, known] : newest) {
    const auto [driver, name] = pool;
    const auto [generation, count] = known;
    const auto incomplete = [&](const api::ResourceSlice& slice) {
      return slice.driver == driver && slice.pool_name == name && slice.pool_generation == generation &&
             slice.pool_slice_count != count;
    };
    if (std::ranges::none_of(*situation.slices, incomplete)) continue;
    changes.push_back({Format("wait until the driver has published all slices of pool {}/{}", driver, name),
                       [driver, name, generation, count](Situation& changed) {
                         std::vector<api::ResourceSlice> slices = *changed.slices;
                         for (api::ResourceSlice& slice : slices) {
                           const bool same = slice.driver == driver && slice.pool_name == name;
                           if (same && slice.pool_generation == generation) slice.pool_slice_count = count;
                         }
                         changed.inventory = std::make_shared<const alloc::Inventory>(std::move(slices));
                       }});
  }
}

void AddTolerations(const Situation& situation, const NamedRequest& named, Changes& changes) {
  std::map<std::string, api::Taint> taints;
  for (const api::ResourceSlice& slice : *situation.slices) {
    for (const api::Device& device : slice.devices) {
      if (const api::Taint* taint = alloc::FirstUntolerated(device, *named.request, situation.rules)) {
        taints.emplace(api::ToText(*taint), *taint);
      }
    }
  }
  for (const auto& [text, taint] : taints) {
    changes.push_back({Format("lift the taint {}, or tolerate it in {}", text, named.name),
                       [place = named.place, taint](Situation& changed) {
                         place.In(changed).tolerations.push_back({.key = taint.key,
                                                                  .op = "Equal",
                                                                  .value = taint.value,
                                                                  .effect = taint.effect,
                                                                  .toleration_seconds = {}});
                       }});
  }
}

// Puts `true` in the place of a part. What stands around it keeps its place, so that another part can go as well.
void Drop(std::string& expression, std::size_t offset, std::string_view part) {
  if (!std::string_view(expression).substr(std::min(offset, expression.size())).starts_with(part)) {
    offset = expression.find(part);
  }
  if (offset == std::string::npos) return;
  std::string blank = "true";
  blank.resize(std::max(part.size(), blank.size()), ' ');
  expression.replace(offset, part.size(), blank);
}

void AddSelectors(const NamedRequest& named, Changes& changes) {
  for (std::size_t s = 0; s < named.request->selectors.size(); ++s) {
    const std::string text = named.request->selectors[s].cel.value_or("");
    for (const std::string_view part : cel::Conjuncts(text)) {
      const auto offset = static_cast<std::size_t>(part.data() - text.data());
      changes.push_back({Format("drop {} from {}", part, named.name),
                         [place = named.place, s, offset, dropped = std::string(part)](Situation& changed) {
                           if (auto& cel = place.In(changed).selectors[s].cel) Drop(*cel, offset, dropped);
                         }});
    }
  }
}

// Nodes that nothing else bars become nodes like the others.
void AddNodes(const Situation& situation, Changes& changes) {
  std::set<std::string> remedies;
  for (const BarredNode& barred : situation.barred) {
    for (const Bar& bar : barred.by) remedies.insert(bar.remedy);
  }
  remedies.erase("");
  for (const std::string& remedy : remedies) {
    changes.push_back({remedy, [remedy](Situation& changed) {
                         std::erase_if(changed.barred, [&](BarredNode& node) {
                           std::erase_if(node.by, [&](const Bar& bar) { return bar.remedy == remedy; });
                           if (node.by.empty()) changed.nodes.push_back(node.node);
                           return node.by.empty();
                         });
                       }});
  }
}

// What is left of a capacity, on any device, and is less than asked for; the most first.
std::vector<Quantity> Remainders(const Situation& situation, const std::string& capacity, const Quantity& asked) {
  constexpr std::size_t kTried = 8;
  std::map<std::tuple<std::string, std::string, std::string>, Quantity> left;
  for (const api::ResourceSlice& slice : *situation.slices) {
    for (const api::Device& device : slice.devices) {
      const auto found = device.capacity.find(capacity);
      if (found != device.capacity.end()) left[{slice.driver, slice.pool_name, device.name}] = found->second;
    }
  }
  for (const Holder& holder : situation.holders) {
    for (const api::AllocationResult& result : holder.results) {
      const auto device = left.find(std::tuple(result.driver, result.pool, result.device));
      const auto taken = result.consumed_capacity.find(capacity);
      if (device != left.end() && taken != result.consumed_capacity.end()) device->second.Sub(taken->second);
    }
  }
  std::vector<Quantity> amounts;
  for (const auto& [device, amount] : left) {
    if (amount.Sign() > 0 && amount < asked) amounts.push_back(amount);
  }
  std::ranges::sort(amounts, std::greater());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  if (amounts.size() > kTried) amounts.resize(kTried);
  return amounts;
}

void AddCapacities(const Situation& situation, const NamedRequest& named, Changes& changes) {
  if (!named.request->capacity) return;
  for (const auto& [capacity, asked] : *named.request->capacity) {
    for (const Quantity& amount : Remainders(situation, capacity, asked)) {
      changes.push_back({Format("ask for {} instead of {} of capacity {} in {}", amount.ToString(), asked.ToString(),
                                capacity, named.name),
                         [place = named.place, capacity, amount](Situation& changed) {
                           place.In(changed).capacity->insert_or_assign(capacity, amount);
                         },
                         Format("capacity {} of {}", capacity, named.name)});
    }
  }
}

void AddConstraints(const Situation& situation, Changes& changes) {
  for (std::size_t c = 0; c < situation.claims.size(); ++c) {
    const auto& constraints = situation.claims[c].spec.constraints;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const bool match = constraints[i].match_attribute.has_value();
      const std::string attribute =
          match ? *constraints[i].match_attribute : constraints[i].distinct_attribute.value_or("");
      changes.push_back(
          {Format("drop the constraint {} {} from claim {}", match ? "matchAttribute" : "distinctAttribute", attribute,
                  api::ToText(situation.claims[c].ref)),
           // No request has an empty name, so it covers none. The others keep their numbers.
           [c, i](Situation& changed) { changed.claims[c].spec.constraints[i].requests = {""}; }});
    }
  }
}

// From one less downwards; the first that fits is the smallest change of its kind.
void AddCounts(const NamedRequest& named, Changes& changes) {
  constexpr std::int64_t kMost = alloc::kMaxResults;
  const bool all = named.request->allocation_mode == "All";
  const std::string asked = all ? "all" : Format("{}", named.request->count);
  for (std::int64_t count = all ? kMost : std::min(named.request->count - 1, kMost); count > 0; --count) {
    changes.push_back({Format("ask for {} instead of {} in {}", count, asked, named.name),
                       [place = named.place, count](Situation& changed) {
                         place.In(changed).allocation_mode = "ExactCount";
                         place.In(changed).count = count;
                       },
                       "count of " + named.name});
  }
}

Changes AllChanges(const Situation& situation, cel::SelectorCache& selectors) {
  Changes changes;
  const std::vector<NamedRequest> requests = AllRequests(situation);
  for (const NamedRequest& named : requests) AddClasses(situation, named, changes);
  AddSpellings(situation, selectors, changes);
  AddPools(situation, changes);
  AddNodes(situation, changes);
  for (const NamedRequest& named : requests) AddTolerations(situation, named, changes);
  for (const NamedRequest& named : requests) AddSelectors(named, changes);
  for (const NamedRequest& named : requests) AddCapacities(situation, named, changes);
  AddConstraints(situation, changes);
  for (const NamedRequest& named : requests) AddCounts(named, changes);
  return changes;
}

// Tries changes as long as the budget lasts.
class Trial {
 public:
  Trial(const Situation& situation, cel::SelectorCache& selectors)
      : situation_(situation), selectors_(selectors), price_(DevicesToLookAt(situation)) {}

  bool Affordable() const { return spent_ + price_ <= kBudget; }

  // The node on which it fits then.
  std::optional<std::string> Try(std::initializer_list<const Change*> changes) {
    spent_ += price_;
    Situation changed = situation_;
    for (const Change* change : changes) change->make(changed);
    return Replay(changed, selectors_).Ask().node;
  }

 private:
  const Situation& situation_;
  cel::SelectorCache& selectors_;
  const std::size_t price_;
  std::size_t spent_ = 0;
};

// Each change by itself, until there are enough.
void TrySingles(const Changes& changes, Trial& trial, Remedies& remedies) {
  std::set<std::string> families;
  for (const Change& change : changes) {
    if (remedies.found.size() == kShown) return;
    if (!change.family.empty() && families.contains(change.family)) continue;
    if (!trial.Affordable()) {
      remedies.tried_all = false;
      return;
    }
    const auto node = trial.Try({&change});
    if (!node) continue;
    remedies.found.push_back({.text = change.text, .node = *node});
    if (!change.family.empty()) families.insert(change.family);
  }
}

// What others would have to give up, where it is the least.
void TryFreeings(const Situation& situation, cel::SelectorCache& selectors, Remedies& remedies) {
  const Freeings freeings = FindFreeings(situation, selectors);
  remedies.tried_all = remedies.tried_all && freeings.tried_all;
  for (std::size_t i = 0; i < freeings.found.size() && i < kFreeingsShown; ++i) {
    remedies.found.push_back({.text = ToText(freeings.found[i]), .node = freeings.found[i].node});
  }
}

// The first two that are enough together.
void TryPairs(const Changes& changes, Trial& trial, Remedies& remedies) {
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < changes.size(); ++a) {
    for (std::size_t b = a + 1; b < changes.size(); ++b) {
      if (!changes[a].family.empty() && changes[a].family == changes[b].family) continue;
      if (pairs++ == kMaxPairs || !trial.Affordable()) {
        remedies.tried_all = false;
        return;
      }
      const auto node = trial.Try({&changes[a], &changes[b]});
      if (!node) continue;
      remedies.found.push_back({.text = Format("{}, and {}", changes[a].text, changes[b].text), .node = *node});
      return;
    }
  }
}

// One of them, and what others would have to give up then.
void TryWithFreeing(const Situation& situation, const Changes& changes, cel::SelectorCache& selectors,
                    Remedies& remedies) {
  constexpr std::size_t kMaxNodes = 100, kMaxChanges = 20;
  remedies.tried_all = remedies.tried_all && changes.size() <= kMaxChanges && situation.nodes.size() <= kMaxNodes;
  for (std::size_t i = 0; i < changes.size() && i < kMaxChanges; ++i) {
    Situation changed = situation;
    changes[i].make(changed);
    if (changed.nodes.size() > kMaxNodes) changed.nodes.resize(kMaxNodes);
    const Freeings freeings = FindFreeings(changed, selectors);
    if (freeings.found.empty()) continue;
    const Freeing& first = freeings.found.front();
    remedies.found.push_back({.text = Format("{}, and {}", changes[i].text, ToText(first)), .node = first.node});
    return;
  }
}

}  // namespace

Remedies FindRemedies(const Situation& situation, cel::SelectorCache& selectors) {
  Remedies remedies;
  const Changes changes = AllChanges(situation, selectors);
  Trial trial(situation, selectors);
  TrySingles(changes, trial, remedies);
  TryFreeings(situation, selectors, remedies);
  if (remedies.found.empty()) TryPairs(changes, trial, remedies);
  if (remedies.found.empty()) TryWithFreeing(situation, changes, selectors, remedies);
  return remedies;
}

}  // namespace tessera::inspect
