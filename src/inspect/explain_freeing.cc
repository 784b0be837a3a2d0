#include "inspect/explain_freeing.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kMaxNodes = 1000;
constexpr std::size_t kMaxHolders = 32;  // Of one node.

using Holders = std::vector<const Holder*>;
using PoolName = std::pair<std::string, std::string>;  // Driver and pool.

// Who holds something that a node can reach: those to be freed rather first.
class HoldersByNode {
 public:
  explicit HoldersByNode(const Situation& situation) {
    std::map<PoolName, Holders> by_pool;
    for (const Holder& holder : situation.holders) {
      std::set<PoolName> pools;
      for (const api::AllocationResult& result : holder.results) pools.emplace(result.driver, result.pool);
      for (const PoolName& pool : pools) by_pool[pool].push_back(&holder);
    }
    std::set<std::pair<std::string, PoolName>> seen;
    for (const api::ResourceSlice& slice : *situation.slices) {
      const PoolName pool(slice.driver, slice.pool_name);
      const auto found = by_pool.find(pool);
      if (found == by_pool.end() || !seen.emplace(slice.node_name, pool).second) continue;
      Holders& there = by_node_[slice.node_name];  // Without a name: any node.
      there.insert(there.end(), found->second.begin(), found->second.end());
    }
  }

  Holders Of(const std::string& node) const {
    Holders all;
    for (const std::string& name : {node, std::string()}) {
      const auto found = by_node_.find(name);
      if (found == by_node_.end()) continue;
      for (const Holder* holder : found->second) {  // A claim may hold devices of several pools.
        if (std::ranges::find(all, holder) == all.end()) all.push_back(holder);
      }
    }
    std::ranges::stable_sort(all, {}, [](const Holder* holder) { return !holder->user.empty(); });
    return all;
  }

 private:
  std::map<std::string, Holders> by_node_;
};

// One node, with some of its holders.
class NodeTrial {
 public:
  NodeTrial(const Situation& situation, const alloc::Node& node, cel::SelectorCache& selectors)
      : local_{.inventory = situation.inventory,
               .slices = situation.slices,
               .classes = situation.classes,
               .claims = situation.claims,
               .nodes = {node},
               .rules = situation.rules},
        selectors_(selectors) {}

  bool FitsBeside(const Holders& holders) {
    local_.holders.clear();
    for (const Holder* holder : holders) local_.holders.push_back(*holder);
    return Replay(local_, selectors_).Ask().node.has_value();
  }

 private:
  Situation local_;
  cel::SelectorCache& selectors_;
};

Holders Without(Holders holders, const Holder* one) {
  std::erase(holders, one);
  return holders;
}

// The one that is enough by itself or, when there is none, what is left after everybody stays who can.
Holders FewestToFree(NodeTrial& trial, const Holders& all) {
  if (!trial.FitsBeside({})) return {};
  for (const Holder* one : all) {
    if (trial.FitsBeside(Without(all, one))) return {one};
  }
  Holders freed = all, stay;
  for (const Holder* one : std::ranges::reverse_view(all)) {
    stay.push_back(one);
    if (trial.FitsBeside(stay)) {
      std::erase(freed, one);
    } else {
      stay.pop_back();
    }
  }
  return freed;
}

std::string UsersOf(const Holder& holder) {
  return holder.user.empty() ? "which no pod uses" : Format("used by {}", holder.user);
}

auto PriceOf(const Freeing& freeing) {
  const auto used = std::ranges::count_if(freeing.holders, [](const Holder* holder) { return !holder->user.empty(); });
  return std::tuple(freeing.holders.size(), used);
}

}  // namespace

Freeings FindFreeings(const Situation& situation, cel::SelectorCache& selectors) {
  Freeings freeings;
  const HoldersByNode by_node(situation);
  std::size_t looked_at = 0;
  for (const alloc::Node& node : situation.nodes) {
    const Holders holders = by_node.Of(node.name);
    if (holders.empty()) continue;
    if (holders.size() > kMaxHolders || ++looked_at > kMaxNodes) {
      freeings.tried_all = false;
      continue;
    }
    NodeTrial trial(situation, node, selectors);
    Holders freed = FewestToFree(trial, holders);
    if (!freed.empty()) freeings.found.push_back({.node = node.name, .holders = std::move(freed)});
  }
  std::ranges::stable_sort(freeings.found, {}, PriceOf);
  return freeings;
}

std::string ToText(const Freeing& freeing) {
  constexpr std::size_t kNamed = 3;
  const std::size_t count = freeing.holders.size();
  std::vector<std::string> names;
  for (const Holder* holder : freeing.holders) {
    if (count == 1) return Format("free what claim {} holds ({})", holder->claim, UsersOf(*holder));
    if (names.size() == kNamed) {
      names.emplace_back("…");
      break;
    }
    names.push_back(Format("{} ({})", holder->claim, UsersOf(*holder)));
  }
  return Format("free what {} claims hold: {}", count, Join(names, ", "));
}

}  // namespace tessera::inspect
