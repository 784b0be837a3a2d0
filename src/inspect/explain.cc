#include "inspect/explain.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "base/text.h"

namespace tessera::inspect {
namespace {

// The scheduler looks for classes first: "request R: device class K does not exist".
std::vector<std::string> MissingClasses(const Situation& situation) {
  std::vector<std::string> missing;
  for (const alloc::Claim& claim : situation.claims) {
    for (const api::ClaimRequest& request : claim.spec.requests) {
      std::vector<std::string> names;
      if (request.exactly) names.push_back(request.exactly->device_class);
      for (const api::DeviceRequest& sub : request.first_available) names.push_back(sub.device_class);
      for (const std::string& name : names) {
        if (situation.classes.contains(name)) continue;
        missing.push_back(Format("claim {}, request {}: DeviceClass {} does not exist", api::ToText(claim.ref),
                                 request.name, name.empty() ? "\"\"" : name));
      }
    }
  }
  return missing;
}

std::string ClassNames(const Situation& situation) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const auto& [name, one] : situation.classes) {
    if (names.size() <= kShown) names.push_back(names.size() < kShown ? name : "…");
  }
  return names.empty() ? "there is none" : Join(names, ", ");
}

void AddPlacements(const Situation& situation, const Answer& answer, Explanation& out) {
  for (std::size_t c = 0; c < answer.allocations.size(); ++c) {
    for (const api::AllocationResult& result : answer.allocations[c].results) {
      out.devices.push_back({.claim = api::ToText(situation.claims[c].ref),
                             .request = result.request,
                             .driver = result.driver,
                             .pool = result.pool,
                             .device = result.device});
    }
  }
}

void AddConditions(const manifests::Claim& claim, std::vector<PrepareNews>& news) {
  for (const manifests::DeviceStatus& device : claim.devices) {
    for (const manifests::DeviceStatus::Condition& condition : device.conditions) {
      const std::string reason = condition.reason.empty() ? "" : Format(" {}", condition.reason);
      news.push_back({.about = Format("claim {}", api::ToText(claim.object.ref)),
                      .who = device.driver,
                      .when = "",
                      .text = Format("{}/{} {}={}{}: {}", device.pool, device.device, condition.type, condition.status,
                                     reason, condition.message)});
    }
  }
}

// Which driver or claim of the subject a message is about: the kubelet's Events about a pod are of all drivers together.
std::string Concerned(const manifests::Objects& objects, const Subject& subject, std::string_view message) {
  for (const ClaimProgress& progress : subject.claims) {
    const auto name = Cut(progress.claim, "/");
    const manifests::Claim* claim = name ? FindClaim(objects, name->first, name->second) : nullptr;
    if (claim == nullptr || !claim->object.allocation) continue;
    for (const api::AllocationResult& result : claim->object.allocation->results) {
      if (message.contains(result.driver)) return result.driver;
    }
    if (message.contains(Format("ResourceClaim {}:", name->second))) return progress.claim;
  }
  return {};
}

// Events of the pod that are trouble and not the scheduler's, and all of its claims: who prepared, or could not. Of
// many alike the last one.
void AddEvents(const manifests::Objects& objects, const Subject& subject, std::vector<PrepareNews>& news) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, const manifests::Event*> last;
  for (const manifests::Event& event : objects.events) {
    const std::string name = Format("{}/{}", event.namespace_name, event.name);
    const bool of_pod = subject.pod != nullptr && event.kind == "Pod" && event.type == "Warning" &&
                        event.reason != "FailedScheduling" &&
                        name == Format("{}/{}", subject.pod->namespace_name, subject.pod->name);
    const bool of_claim = event.kind == "ResourceClaim" &&
                          std::ranges::find(subject.claims, name, &ClaimProgress::claim) != subject.claims.end();
    if (!of_pod && !of_claim) continue;
    const auto*& kept = last[{of_pod ? "pod " + name : "claim " + name, event.component, event.reason,
                              Concerned(objects, subject, event.message)}];
    if (kept == nullptr || kept->last_seen < event.last_seen) kept = &event;
  }
  std::vector<PrepareNews> events;
  for (const auto& [key, event] : last) {
    const std::string host = event->host.empty() ? "" : Format(" on {}", event->host);
    events.push_back({.about = std::get<0>(key),
                      .who = event->component + host,
                      .when = event->last_seen,
                      .count = event->count,
                      .text = Format("{}: {}", event->reason, event->message)});
  }
  std::ranges::stable_sort(events, std::greater(), &PrepareNews::when);
  news.insert(news.begin(), std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
}

void AddNews(const manifests::Objects& objects, const Subject& subject, Explanation& out) {
  for (const ClaimProgress& progress : subject.claims) {
    const auto name = Cut(progress.claim, "/");
    const manifests::Claim* claim = name ? FindClaim(objects, name->first, name->second) : nullptr;
    if (claim != nullptr) AddConditions(*claim, out.news);
  }
  AddEvents(objects, subject, out.news);
}

// Nothing fits: says why, and what would.
void AddReasons(const Situation& situation, const Answer& answer, cel::SelectorCache& selectors, Explanation& out) {
  if (const auto missing = MissingClasses(situation); !missing.empty()) {
    out.stopped_by = Join(missing, "; ");
    out.stopped_advice = Format("create it, or name one of these: {}", ClassNames(situation));
  } else {
    if (answer.fatal) {
      out.stopped_by = Format("on node {}: {}", answer.fatal_node, answer.fatal->message());
      out.stopped_advice = answer.fatal->advice();
    }
    out.groups = GroupNodes(situation, selectors);
    out.misspellings = FindMisspellings(situation, selectors);
  }
  if (answer.undecided)
    out.notes.emplace_back("on some nodes the search was given up; kube-scheduler gives up after 10 s");
  out.remedies = FindRemedies(situation, selectors);
}

cel::SelectorCache SelectorsFor(const alloc::Rules& rules) {
  return cel::SelectorCache(alloc::SelectorsUnder(rules), 1024);
}

void AddHints(const manifests::Objects& objects, Explanation& out) {
  if (objects.slices.empty()) {
    out.notes.emplace_back("there is no ResourceSlice at all: no DRA driver runs on any node, or it publishes nothing");
  }
  if (objects.nodes.empty() && !objects.slices.empty()) {
    out.notes.emplace_back("nodes are taken from the slices, so their labels are unknown");
  }
}

// A pod that runs nowhere yet, whose devices are there and which may go to no node that reaches them.
bool IsStranded(const Subject& subject, const Situation& situation) {
  return subject.pod != nullptr && subject.pod->spec.node_name.empty() && !subject.reachable_from.empty() &&
         situation.nodes.empty() && !situation.barred.empty();
}

}  // namespace

Result<Explanation> Explain(const manifests::Objects& objects, const Target& target, const ClusterFacts& cluster) {
  TESSERA_ASSIGN(const Subject subject, FindSubject(objects, target, !cluster.server.empty()));
  Explanation out{.target = target, .cluster = cluster, .proof = ProofFor(cluster), .claims = subject.claims};
  out.notes = subject.notes;
  if (subject.pod != nullptr) out.scheduler_says = subject.pod->unscheduled_message;
  const Situation situation = MakeSituation(objects, subject, out.proof.rules);
  out.nodes = situation.nodes.size();
  const bool blocked = std::ranges::any_of(subject.claims, &ClaimProgress::blocks);
  const bool deleting = subject.pod != nullptr && subject.pod->deleting;
  if (deleting) out.notes.emplace_back("the pod is being deleted");
  if (subject.claims.empty()) out.notes.emplace_back("the pod has no claims");
  AddNews(objects, subject, out);
  if (subject.open.empty() && !IsStranded(subject, situation)) {
    out.fits = !blocked;
    return out;
  }
  cel::SelectorCache selectors = SelectorsFor(out.proof.rules);
  const Answer answer = Replay(situation, selectors).Ask();
  AddHints(objects, out);
  if (answer.node) {
    out.fits = !blocked;
    out.node = *answer.node;
    AddPlacements(situation, answer, out);
  } else {
    AddReasons(situation, answer, selectors, out);
  }
  return out;
}

Explanation ExplainRefusal(const Situation& situation) {
  Explanation out{.nodes = situation.nodes.size()};
  for (const alloc::Claim& claim : situation.claims) {
    out.claims.push_back({.claim = api::ToText(claim.ref), .as = "", .state = std::string(kNeedsDevices)});
  }
  cel::SelectorCache selectors = SelectorsFor(situation.rules);
  AddReasons(situation, Replay(situation, selectors).Ask(), selectors, out);
  return out;
}

}  // namespace tessera::inspect
