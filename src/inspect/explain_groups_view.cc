#include "inspect/explain_groups_view.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kGroupsShown = 5;
constexpr std::size_t kGroupLines = 5;  // A group with less room would not say much.
constexpr std::size_t kReasonsShown = 4;

// "node-a … node-e (5 nodes)".
std::string Names(const std::vector<std::string>& names, std::string_view noun) {
  if (names.size() == 1) return names.front();
  if (names.size() == 2) return Format("{} and {}", names[0], names[1]);
  return Format("{} … {} ({})", names.front(), names.back(), Counted(names.size(), noun));
}

// "gpu-0, gpu-1" of one node, where they are few; otherwise how many on each.
std::string DeviceNames(const Reason& reason, std::size_t nodes) {
  constexpr std::size_t kNamed = 4;
  if (nodes > 1 || reason.devices.size() > kNamed) return Counted(reason.devices.size() / nodes, "device");
  std::vector<std::string> names;
  for (const auto& [device, seen] : reason.devices) names.push_back(device.substr(device.rfind('/') + 1));
  return Join(names, ", ");
}

// "[default/alice (pod default/alice-0); default/bob (no pod)]": what the devices have of their own, each once.
std::string Seen(const Reason& reason) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> all;
  for (const auto& [device, seen] : reason.devices) {
    if (seen.empty() || std::ranges::find(all, seen) != all.end()) continue;
    all.push_back(all.size() < kNamed ? seen : "…");
    if (all.size() > kNamed) break;
  }
  return all.empty() ? "" : Format(" [{}]", Join(all, "; "));
}

// When not all fit, the first are told.
enum class Rank : std::uint8_t { kFault, kConflict, kLacking, kOther };

// Lines that stand or fall together.
struct Block {
  std::string_view noun;
  Rank rank;
  Screen lines;
};

// Pools with the same fault in one line.
void AddPools(const std::vector<PoolFault>& faults, std::vector<Block>& blocks) {
  std::vector<std::pair<const PoolFault*, std::vector<std::string>>> alike;
  for (const PoolFault& fault : faults) {
    const auto same = [&](const auto& one) {
      return std::tie(one.first->driver, one.first->state, one.first->reason) ==
             std::tie(fault.driver, fault.state, fault.reason);
    };
    auto known = std::ranges::find_if(alike, same);
    if (known == alike.end()) known = alike.emplace(alike.end(), &fault, std::vector<std::string>());
    known->second.push_back(Format("{}/{}", fault.driver, fault.pool));
  }
  for (const auto& [fault, names] : alike) {
    const bool one = names.size() == 1;
    Screen& lines = blocks.emplace_back("pool fault", Rank::kFault).lines;
    lines.Line(4, Format("{} {} {} {}: {}", one ? "pool" : "pools", Names(names, "pool"), one ? "is" : "are",
                         fault->state, fault->reason));
  }
}

// To say that there is one more would take the line that it needs itself.
std::size_t ReasonsShown(const RequestReport& request, std::size_t most) {
  return request.reasons.size() <= most + 1 ? request.reasons.size() : most;
}

Screen RequestLines(const RequestReport& request, std::size_t nodes, bool name_claim, std::size_t most_reasons) {
  Screen lines;
  const std::string claim = name_claim ? Format("claim {}, ", request.claim) : "";
  const std::string usable = request.devices == 0
                                 ? "there are no devices"
                                 : Format("{} of {} usable", request.usable, Counted(request.devices, "device"));
  lines.Line(4, Format("{}request {}: wants {}, {}", claim, request.request, request.wanted, usable));
  const std::size_t shown = ReasonsShown(request, most_reasons);
  for (const Reason& reason : request.reasons | std::views::take(shown)) {
    lines.Line(6, Format("{}: {}{}", DeviceNames(reason, nodes), reason.text, Seen(reason)));
  }
  if (shown < request.reasons.size()) lines.Line(6, Format("and {} more reasons", request.reasons.size() - shown));
  return lines;
}

std::vector<Block> BlocksOf(const NodeGroup& group, bool name_claims, std::size_t most_reasons) {
  std::vector<Block> blocks;
  if (!group.error.empty()) blocks.emplace_back("error", Rank::kFault).lines.Line(4, group.error);
  AddPools(group.pools, blocks);
  for (const RequestReport& request : group.requests) {
    blocks.emplace_back("request", request.lacking ? Rank::kLacking : Rank::kOther,
                        RequestLines(request, group.nodes.size(), name_claims, most_reasons));
  }
  const std::string of = group.nodes.size() > 1 ? Format(" (on {})", group.nodes.front()) : "";
  for (const Conflict& conflict : group.together) {
    blocks.emplace_back("conflict", Rank::kConflict).lines.Line(4, conflict.text + of);
  }
  return blocks;
}

std::size_t LinesOf(const std::vector<Block>& blocks) {
  return std::transform_reduce(blocks.begin(), blocks.end(), std::size_t{0}, std::plus(),
                               [](const Block& block) { return block.lines.size(); });
}

// "and 1 more conflict, 6 more requests".
std::string LeftOut(std::span<const Block> blocks) {
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < blocks.size();) {
    const std::string_view noun = blocks[i].noun;
    const std::size_t first = i;
    while (i < blocks.size() && blocks[i].noun == noun) ++i;
    counts.push_back(Counted(i - first, Format("more {}", noun)));
  }
  return Format("and {}", Join(counts, ", "));
}

// The most telling blocks, in so many lines.
void AddShort(std::vector<Block> blocks, std::size_t room, Screen& screen) {
  std::ranges::stable_sort(blocks, {}, &Block::rank);
  std::size_t shown = 0;
  for (; shown < blocks.size() && blocks[shown].lines.size() < room; ++shown) {
    screen.Add(blocks[shown].lines);
    room -= blocks[shown].lines.size();
  }
  screen.Line(4, LeftOut(std::span(blocks).subspan(shown)));
}

bool HasMoreReasons(const NodeGroup& group, std::size_t most) {
  return std::ranges::any_of(group.requests, [&](const RequestReport& request) {
    return ReasonsShown(request, most) < request.reasons.size();
  });
}

struct GroupView {
  Screen screen;
  bool whole = true;
};

GroupView ViewOf(const NodeGroup& group, bool name_claims, std::size_t room) {
  GroupView view;
  const std::string names = Names(group.nodes, "node");
  if (!group.bars.empty()) {
    view.screen.Line(2, Format("{}: not for this pod: {}", names, Join(group.bars, ", ")));
    return view;
  }
  view.screen.Line(2, names);
  std::size_t reasons = kReasonsShown;
  std::vector<Block> blocks = BlocksOf(group, name_claims, reasons);
  if (LinesOf(blocks) >= room) {
    reasons = 1;
    blocks = BlocksOf(group, name_claims, reasons);
  }
  const bool fits = LinesOf(blocks) < room;
  view.whole = fits && !HasMoreReasons(group, reasons);
  if (fits) {
    for (const Block& block : blocks) view.screen.Add(block.lines);
  } else {
    AddShort(std::move(blocks), room - 1, view.screen);
  }
  return view;
}

// How many groups have room for what is needed to say something of each.
std::size_t HowManyFit(std::span<const std::size_t> wanted, std::size_t room) {
  std::size_t shown = 0;
  for (const std::size_t lines : wanted) {
    const std::size_t least = std::min(lines, kGroupLines);
    if (least > room) break;
    room -= least;
    ++shown;
  }
  return shown;
}

// Fair: who wants less than an equal share has all of it, and the others share what that leaves.
std::vector<std::size_t> Shares(std::span<const std::size_t> wanted, std::size_t room) {
  std::vector<std::size_t> smallest_first(wanted.size());
  std::iota(smallest_first.begin(), smallest_first.end(), std::size_t{0});
  std::ranges::stable_sort(smallest_first, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<std::size_t> shares(wanted.size());
  std::size_t waiting = wanted.size();
  for (const std::size_t i : smallest_first) {
    shares[i] = std::min(wanted[i], room / waiting--);
    room -= shares[i];
  }
  return shares;
}

}  // namespace

Screen ViewOf(const std::vector<NodeGroup>& groups, bool name_claims, std::size_t room, bool has_json) {
  --room;  // For the last line.
  std::vector<std::size_t> wanted;
  for (const NodeGroup& group : groups | std::views::take(kGroupsShown)) {
    wanted.push_back(ViewOf(group, name_claims, std::numeric_limits<std::size_t>::max()).screen.size());
  }
  wanted.resize(HowManyFit(wanted, room));
  const std::vector<std::size_t> shares = Shares(wanted, room);
  Screen screen;
  bool whole = true;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const GroupView view = ViewOf(groups[i], name_claims, shares[i]);
    screen.Add(view.screen);
    whole = whole && view.whole;
  }
  if (shares.size() < groups.size()) {
    std::size_t nodes = 0;
    for (const NodeGroup& group : groups | std::views::drop(shares.size())) nodes += group.nodes.size();
    screen.Line(2, Format("and {} in {}{}", Counted(nodes, "node"),
                          Counted(groups.size() - shares.size(), "more group"), has_json ? kJsonHasAll : ""));
  } else if (!whole && has_json) {
    screen.Line(2, "-o json has what is left out here");
  }
  return screen;
}

}  // namespace tessera::inspect
