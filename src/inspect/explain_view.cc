#include "inspect/explain_view.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kGroupsShown = 5;
constexpr std::size_t kReasonsShown = 4;
constexpr std::size_t kNewsShown = 6;
constexpr std::size_t kLineWidth = 240;
constexpr std::size_t kNewsWidth = 600;  // What a driver says of a failure is worth more than a line.

class Screen {
 public:
  // One line, without what objects of the cluster could do to a terminal.
  void Line(int indent, std::string_view text, std::size_t width = kLineWidth) {
    std::string flat(text);
    for (char& c : flat) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    const std::string_view clipped = Clip(flat, width);
    text_.append(static_cast<std::size_t>(indent), ' ').append(clipped);
    text_ += clipped.size() < flat.size() ? "…\n" : "\n";
  }
  // Its own lines, such as an expression with a caret below.
  void Lines(int indent, std::string_view text) {
    for (const std::string_view line : Split(text, '\n')) Line(indent, line, kNewsWidth);
  }
  void Gap() { text_ += '\n'; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string Nodes(std::size_t count) { return count == 1 ? "1 node" : Format("{} nodes", count); }

std::string Devices(std::size_t count) { return count == 1 ? "1 device" : Format("{} devices", count); }

// "fits on node-a", "does not fit on any of 8 nodes".
std::string Verdict(const Explanation& e) {
  if (e.fits && e.node.empty()) return e.claims.empty() ? "needs no devices" : "has its devices allocated";
  if (e.fits) return Format("fits on {}", e.node);
  for (const ClaimProgress& claim : e.claims) {
    if (claim.blocks) return "waits for something else than devices";
  }
  if (!e.stopped_by.empty()) return "stops the scheduler with an error";
  if (e.nodes == 0) return "has no node to fit on";
  return e.nodes == 1 ? "does not fit on the one node it may use" : Format("does not fit on any of {}", Nodes(e.nodes));
}

void PrintClaims(const Explanation& e, Screen& screen) {
  for (const ClaimProgress& claim : e.claims) {
    const bool said = e.target.kind == Target::Kind::kClaim && claim.state == kNeedsDevices;
    const std::string as = claim.as.empty() ? "" : Format("{}: ", claim.as);
    if (!said) screen.Line(2, Format("{}claim {}: {}", as, claim.claim, claim.state));
  }
  if (!e.scheduler_says.empty()) screen.Line(2, Format("the scheduler says: {}", e.scheduler_says), kNewsWidth);
}

void PrintStop(const Explanation& e, Screen& screen) {
  if (!e.stopped_by.empty()) screen.Lines(2, e.stopped_by);
  for (const Misspelling& misspelling : e.misspellings) screen.Lines(2, ToText(misspelling));
  // A name that no device has comes with its own advice.
  if (e.misspellings.empty() && !e.stopped_advice.empty()) screen.Lines(2, Format("next: {}", e.stopped_advice));
}

std::string NodeNames(const std::vector<std::string>& nodes) {
  if (nodes.size() == 1) return nodes.front();
  if (nodes.size() == 2) return Format("{} and {}", nodes[0], nodes[1]);
  return Format("{} … {} ({})", nodes.front(), nodes.back(), Nodes(nodes.size()));
}

// "gpu-0, gpu-1" of one node, where they are few; otherwise how many on each.
std::string DeviceNames(const Reason& reason, std::size_t nodes) {
  constexpr std::size_t kNamed = 4;
  if (nodes > 1 || reason.devices.size() > kNamed) return Devices(reason.devices.size() / nodes);
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

void PrintReason(const Reason& reason, std::size_t nodes, Screen& screen) {
  screen.Line(6, Format("{}: {}{}", DeviceNames(reason, nodes), reason.text, Seen(reason)));
}

void PrintRequest(const RequestReport& request, std::size_t nodes, bool name_claim, Screen& screen) {
  const std::string claim = name_claim ? Format("claim {}, ", request.claim) : "";
  const std::string usable = request.devices == 0 ? "there are no devices"
                                                  : Format("{} of {} usable", request.usable, Devices(request.devices));
  screen.Line(4, Format("{}request {}: wants {}, {}", claim, request.request, request.wanted, usable));
  for (std::size_t i = 0; i < request.reasons.size(); ++i) {
    if (i == kReasonsShown) {
      screen.Line(6, Format("and {} more reasons", request.reasons.size() - i));
      return;
    }
    PrintReason(request.reasons[i], nodes, screen);
  }
}

void PrintGroup(const NodeGroup& group, bool name_claims, Screen& screen) {
  if (!group.bars.empty()) {
    return screen.Line(2, Format("{}: not for this pod: {}", NodeNames(group.nodes), Join(group.bars, ", ")));
  }
  screen.Line(2, NodeNames(group.nodes));
  if (!group.error.empty()) screen.Line(4, group.error);
  for (const std::string& pool : group.pools) screen.Line(4, pool);
  for (const RequestReport& request : group.requests) PrintRequest(request, group.nodes.size(), name_claims, screen);
  const std::string of = group.nodes.size() > 1 ? Format(" (on {})", group.nodes.front()) : "";
  for (const Conflict& conflict : group.together) screen.Line(4, conflict.text + of);
}

void PrintGroups(const Explanation& e, Screen& screen) {
  if (e.groups.empty()) return;
  screen.Gap();
  std::size_t open = 0;
  for (const ClaimProgress& claim : e.claims) open += claim.state == kNeedsDevices ? 1 : 0;
  for (std::size_t i = 0; i < e.groups.size(); ++i) {
    if (i < kGroupsShown) {
      PrintGroup(e.groups[i], open > 1, screen);
      continue;
    }
    std::size_t rest = 0;
    for (std::size_t j = i; j < e.groups.size(); ++j) rest += e.groups[j].nodes.size();
    screen.Line(2, Format("and {} in {} more groups; -o json has them all", Nodes(rest), e.groups.size() - i));
    break;
  }
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
    screen.Line(2, Format("{}: then it fits on {}", e.remedies.found[i].text, e.remedies.found[i].node), kNewsWidth);
  }
}

void PrintNews(const Explanation& e, Screen& screen) {
  if (e.news.empty()) return;
  screen.Gap();
  screen.Line(0, "Last heard of preparing:");
  for (std::size_t i = 0; i < e.news.size() && i < kNewsShown; ++i) {
    const PrepareNews& news = e.news[i];
    const std::string when = news.when.empty() ? "" : Format(", {}", news.when);
    const std::string times = news.count > 1 ? Format(", {} times", news.count) : "";
    screen.Line(2, Format("{}, {}{}{}: {}", news.about, news.who, when, times, news.text), kNewsWidth);
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
  json::Array requests, together;
  for (const RequestReport& request : group.requests) requests.push_back(ToJson(request));
  for (const Conflict& conflict : group.together) together.push_back(conflict.text.c_str());
  return {{"nodes", Strings(group.nodes)}, {"bars", Strings(group.bars)},     {"error", group.error},
          {"pools", Strings(group.pools)}, {"requests", std::move(requests)}, {"together", std::move(together)}};
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
  for (const Placement& device : e.devices) {
    screen.Line(2, Format("{} {}: {}/{}/{}", device.claim, device.request, device.driver, device.pool, device.device));
  }
  PrintStop(e, screen);
  PrintGroups(e, screen);
  PrintRemedies(e, screen);
  PrintNews(e, screen);
  PrintBasis(e, screen);
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
