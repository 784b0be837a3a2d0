#include "inspect/explain_view.h"

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "inspect/explain_groups_view.h"
#include "inspect/screen.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kNewsShown = 6;
constexpr std::size_t kClaimsShown = 8;
constexpr std::size_t kDevicesShown = 12;
constexpr std::size_t kWhyLines = 26;   // For what stops the scheduler and for nodes; the changes come on top.
constexpr std::size_t kStopLines = 12;  // Of these.

// "fits on node-a", "does not fit on any of 8 nodes".
std::string Verdict(const Explanation& e) {
  if (e.fits && e.node.empty()) return e.claims.empty() ? "needs no devices" : "has its devices allocated";
  if (e.fits) return Format("fits on {}", e.node);
  for (const ClaimProgress& claim : e.claims) {
    if (claim.blocks) return "waits for something else than devices";
  }
  if (!e.stopped_by.empty()) return "stops the scheduler with an error";
  if (e.nodes == 0) return "has no node to fit on";
  return e.nodes == 1 ? "does not fit on the one node it may use"
                      : Format("does not fit on any of {}", Counted(e.nodes, "node"));
}

// "and 30 more devices; -o json has them all".
void PrintMore(std::size_t all, std::size_t shown, std::string_view noun, Screen& screen) {
  if (all > shown) screen.Line(2, Format("and {}{}", Counted(all - shown, Format("more {}", noun)), kJsonHasAll));
}

void PrintClaims(const Explanation& e, Screen& screen) {
  std::vector<const ClaimProgress*> told;
  for (const ClaimProgress& claim : e.claims) {
    if (e.target.kind != Target::Kind::kClaim || claim.state != kNeedsDevices) told.push_back(&claim);
  }
  // When not all are shown, those that hold the pod up are.
  if (told.size() > kClaimsShown) std::ranges::stable_partition(told, &ClaimProgress::blocks);
  for (const ClaimProgress* claim : told | std::views::take(kClaimsShown)) {
    const std::string as = claim->as.empty() ? "" : Format("{}: ", claim->as);
    screen.Line(2, Format("{}claim {}: {}", as, claim->claim, claim->state));
  }
  PrintMore(told.size(), kClaimsShown, "claim", screen);
  if (!e.scheduler_says.empty()) screen.Line(2, Format("the scheduler says: {}", e.scheduler_says), Screen::kWide);
}

// Its lines are few, but for selectors that are wrong in many ways.
Screen StopOf(const Explanation& e, bool has_json) {
  Screen stop;
  if (!e.stopped_by.empty()) stop.Lines(2, e.stopped_by);
  for (const Misspelling& misspelling : e.misspellings) stop.Lines(2, ToText(misspelling));
  // A name that no device has comes with its own advice.
  if (e.misspellings.empty() && !e.stopped_advice.empty()) stop.Lines(2, Format("next: {}", e.stopped_advice));
  if (stop.size() > kStopLines) {
    const std::size_t left_out = stop.size() - kStopLines + 1;
    stop.Shorten(kStopLines - 1);
    stop.Line(2, Format("and {}{}", Counted(left_out, "more line"), has_json ? kJsonHasAll : ""));
  }
  return stop;
}

void PrintGroups(const Explanation& e, std::size_t room, bool has_json, Screen& screen) {
  if (e.groups.empty()) return;
  std::size_t open = 0;
  for (const ClaimProgress& claim : e.claims) open += claim.state == kNeedsDevices ? 1 : 0;
  screen.Gap();
  screen.Add(ViewOf(e.groups, open > 1, room - 1, has_json));
}

void PrintRemedies(const Explanation& e, Screen& screen) {
  if (e.fits || (e.groups.empty() && e.stopped_by.empty())) return;
  screen.Gap();
  if (e.remedies.found.empty()) {
    screen.Line(
        0, e.remedies.tried_all ? "No one or two changes make it fit." : "No change was found; not all were tried.");
    return;
  }
  screen.Line(0, "Smallest change:");
  for (std::size_t i = 0; i < e.remedies.found.size(); ++i) {
    if (i == 1) screen.Line(0, "Or:");
    screen.Line(2, Format("{}: then it fits on {}", e.remedies.found[i].text, e.remedies.found[i].node), Screen::kWide);
  }
}

void PrintReasons(const Explanation& e, bool has_json, Screen& screen) {
  const Screen stop = StopOf(e, has_json);
  screen.Add(stop);
  PrintGroups(e, kWhyLines - stop.size(), has_json, screen);
  PrintRemedies(e, screen);
}

void PrintNews(const Explanation& e, Screen& screen) {
  if (e.news.empty()) return;
  screen.Gap();
  screen.Line(0, "Last heard of preparing:");
  for (std::size_t i = 0; i < e.news.size() && i < kNewsShown; ++i) {
    const PrepareNews& news = e.news[i];
    const std::string when = news.when.empty() ? "" : Format(", {}", news.when);
    const std::string times = news.count > 1 ? Format(", {} times", news.count) : "";
    screen.Line(2, Format("{}, {}{}{}: {}", news.about, news.who, when, times, news.text), Screen::kWide);
  }
}

void PrintBasis(const Explanation& e, Screen& screen) {
  screen.Gap();
  if (e.cluster.server.empty()) {
    screen.Line(0, Format("Assumed: Kubernetes {} with its default feature gates", e.proof.release));
  } else {
    screen.Line(0, Format("Kubernetes {} ({}); feature gates: {}", e.cluster.version, e.cluster.server, e.proof.gates));
  }
  for (const std::string& why : e.proof.not_proven) screen.Line(0, Format("not proven here: {}", why));
  for (const std::string& gap : e.cluster.gaps) screen.Line(0, Format("could not be read: {}", gap));
  for (const std::string& note : e.notes) screen.Line(0, Format("note: {}", note));
}

json::Array Strings(const std::vector<std::string>& texts) { return json::Array(texts.begin(), texts.end()); }

json::Value ToJson(const RequestReport& request) {
  json::Array reasons;
  for (const Reason& reason : request.reasons) {
    json::Array devices;
    for (const auto& [device, seen] : reason.devices) devices.push_back({{"device", device}, {"seen", seen}});
    reasons.push_back({{"kind", reason.kind}, {"text", reason.text}, {"devices", std::move(devices)}});
  }
  return {{"claim", request.claim},   {"request", request.request}, {"wanted", request.wanted},
          {"usable", request.usable}, {"devices", request.devices}, {"reasons", std::move(reasons)}};
}

json::Value ToJson(const NodeGroup& group) {
  json::Array pools, requests, together;
  for (const PoolFault& fault : group.pools) {
    pools.push_back({{"driver", fault.driver}, {"pool", fault.pool}, {"state", fault.state}, {"reason", fault.reason}});
  }
  for (const RequestReport& request : group.requests) requests.push_back(ToJson(request));
  for (const Conflict& conflict : group.together) together.push_back(conflict.text.c_str());
  return {{"nodes", Strings(group.nodes)}, {"bars", Strings(group.bars)},     {"error", group.error},
          {"pools", std::move(pools)},     {"requests", std::move(requests)}, {"together", std::move(together)}};
}

json::Value ToJson(const Misspelling& misspelling) {
  json::Array names;
  for (const cel::UnknownName& unknown : misspelling.unknown) {
    names.push_back({{"domain", unknown.reference.domain},
                     {"id", unknown.reference.id},
                     {"offset", unknown.reference.offset},
                     {"near", unknown.near}});
  }
  return {{"owner", misspelling.owner},
          {"selector", misspelling.selector},
          {"expression", misspelling.expression},
          {"names", std::move(names)}};
}

json::Value ClusterToJson(const Explanation& e) {
  json::Value gates;
  if (e.cluster.gates) {
    json::Object& known = gates.emplace_object();
    for (const auto& [name, on] : *e.cluster.gates) {
      if (name.starts_with("DRA") || name == "DynamicResourceAllocation") known.emplace(name, on);
    }
  }
  return {{"server", e.cluster.server},
          {"version", e.cluster.version},
          {"gates", std::move(gates)},
          {"rulesOf", e.proof.release},
          {"notProven", Strings(e.proof.not_proven)},
          {"gaps", Strings(e.cluster.gaps)}};
}

template <class T, class ToValue>
json::Array Array(const std::vector<T>& items, const ToValue& to_value) {
  json::Array array;
  for (const T& item : items) array.push_back(to_value(item));
  return array;
}

}  // namespace

std::string ToText(const Explanation& e) {
  Screen screen;
  screen.Line(0, Format("{} {}", ToText(e.target), Verdict(e)));
  PrintClaims(e, screen);
  for (const Placement& device : e.devices | std::views::take(kDevicesShown)) {
    screen.Line(2, Format("{} {}: {}/{}/{}", device.claim, device.request, device.driver, device.pool, device.device));
  }
  PrintMore(e.devices.size(), kDevicesShown, "device", screen);
  PrintReasons(e, true, screen);
  PrintNews(e, screen);
  PrintBasis(e, screen);
  return screen.Take();
}

std::string ReasonsToText(const Explanation& e) {
  Screen screen;
  PrintReasons(e, false, screen);
  return screen.Take();
}

json::Value ToJson(const Explanation& e) {
  return {{"target", ToText(e.target)},
          {"fits", e.fits},
          {"node", e.node},
          {"nodes", e.nodes},
          {"claims", Array(e.claims,
                           [](const ClaimProgress& c) {
                             return json::Value{
                                 {"claim", c.claim}, {"as", c.as}, {"state", c.state}, {"blocks", c.blocks}};
                           })},
          {"devices", Array(e.devices,
                            [](const Placement& p) {
                              return json::Value{{"claim", p.claim},
                                                 {"request", p.request},
                                                 {"driver", p.driver},
                                                 {"pool", p.pool},
                                                 {"device", p.device}};
                            })},
          {"schedulerSays", e.scheduler_says},
          {"stoppedBy", e.stopped_by},
          {"stoppedAdvice", e.stopped_advice},
          {"misspellings", Array(e.misspellings, [](const Misspelling& m) { return ToJson(m); })},
          {"groups", Array(e.groups, [](const NodeGroup& group) { return ToJson(group); })},
          {"changes",
           Array(e.remedies.found,
                 [](const Remedy& remedy) { return json::Value{{"text", remedy.text}, {"node", remedy.node}}; })},
          {"triedAllChanges", e.remedies.tried_all},
          {"prepare", Array(e.news,
                            [](const PrepareNews& news) {
                              return json::Value{{"about", news.about},
                                                 {"who", news.who},
                                                 {"when", news.when},
                                                 {"count", news.count},
                                                 {"text", news.text}};
                            })},
          {"cluster", ClusterToJson(e)},
          {"notes", Strings(e.notes)}};
}

}  // namespace tessera::inspect
