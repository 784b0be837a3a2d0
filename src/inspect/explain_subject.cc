#include "inspect/explain_subject.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace tessera::inspect {
namespace {

constexpr std::size_t kMaxReservations = 256;  // Of the API.

std::string Devices(const api::Allocation& allocation) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> names;
  for (const api::AllocationResult& result : allocation.results) {
    if (names.size() == kShown) break;
    names.push_back(Format("{}/{}", result.pool, result.device));
  }
  const std::size_t more = allocation.results.size() - names.size();
  return more == 0 ? Join(names, ", ") : Format("{}, and {} more", Join(names, ", "), more);
}

// Text of the states that need no device, or in which none helps; empty when the claim waits for devices.
std::string StateOf(const manifests::Claim& claim, const manifests::Pod* pod, bool& blocks) {
  blocks = true;
  const bool foreign = pod != nullptr && !claim.owner_pod_uid.empty() && !pod->uid.empty() &&
                       claim.owner_pod == pod->name && claim.owner_pod_uid != pod->uid;
  if (foreign) return "was made for an earlier pod of this name, which is not gone yet";
  if (claim.deleting) return "is being deleted: no new pod may use it";
  if (!claim.object.allocation) {
    blocks = false;
    return {};
  }
  const std::string self = pod != nullptr ? Format("{}/{}", pod->namespace_name, pod->name) : std::string();
  const auto& users = claim.object.reserved_for;
  const bool mine = std::ranges::find(users, self) != users.end();
  if (pod != nullptr && !mine && users.size() >= kMaxReservations) {
    return Format("is reserved for {} pods already, which is the most there can be", users.size());
  }
  blocks = false;
  return Format("allocated: {}{}", Devices(*claim.object.allocation),
                users.empty() ? std::string("; reserved for nobody") : Format("; reserved for {}", Join(users, ", ")));
}

void AddClaim(Subject& subject, const manifests::Claim& claim, std::string as) {
  ClaimProgress& line = subject.claims.emplace_back();
  line.claim = api::ToText(claim.object.ref);
  line.as = std::move(as);
  line.state = StateOf(claim, subject.pod, line.blocks);
  if (claim.object.allocation && claim.object.allocation->node_selector) {
    subject.reachable_from.push_back({.claim = line.claim, .nodes = *claim.object.allocation->node_selector});
  }
  if (!line.state.empty()) return;
  line.state = kNeedsDevices;
  subject.open.push_back({.ref = claim.object.ref, .spec = claim.spec});
}

// A claim that is to be made from a template, and is not there.
void AddFromTemplate(Subject& subject, const manifests::Objects& objects, const manifests::PodClaim& wanted,
                     bool live) {
  const manifests::Pod& pod = *subject.pod;
  ClaimProgress& line = subject.claims.emplace_back();
  line.claim = Format("from template {}", *wanted.template_name);
  line.as = wanted.name;
  const auto found = std::ranges::find_if(objects.templates, [&](const manifests::ClaimTemplate& one) {
    return one.namespace_name == pod.namespace_name && one.name == *wanted.template_name;
  });
  if (found == objects.templates.end()) {
    line.blocks = true;
    line.state = Format("ResourceClaimTemplate {}/{} does not exist", pod.namespace_name, *wanted.template_name);
    return;
  }
  line.blocks = live;
  line.state =
      live ? "not yet made: the resourceclaim controller of kube-controller-manager has to create it" : kNeedsDevices;
  const std::string name = Format("{}-{}", pod.name, wanted.name);
  subject.open.push_back({.ref = {.namespace_name = pod.namespace_name, .name = name, .uid = {}}, .spec = found->spec});
}

// The name of the claim that an entry of the pod means; nothing when it is not made yet.
std::optional<std::string> NameOf(const manifests::Objects& objects, const manifests::Pod& pod,
                                  const manifests::PodClaim& wanted) {
  if (wanted.claim_name) return wanted.claim_name;
  if (const auto made = pod.made_claims.find(wanted.name); made != pod.made_claims.end()) return made->second;
  // The status comes a moment after the claim, whose name begins with the pod's and the entry's.
  const std::string prefix = Format("{}-{}-", pod.name, wanted.name);
  for (const manifests::Claim& claim : objects.claims) {
    const bool same_pod = claim.owner_pod == pod.name && (pod.uid.empty() || claim.owner_pod_uid == pod.uid);
    if (same_pod && claim.object.ref.namespace_name == pod.namespace_name &&
        claim.object.ref.name.starts_with(prefix)) {
      return claim.object.ref.name;
    }
  }
  return std::nullopt;
}

void AddPodClaim(Subject& subject, const manifests::Objects& objects, const manifests::PodClaim& wanted, bool live) {
  const manifests::Pod& pod = *subject.pod;
  if (const auto made = pod.made_claims.find(wanted.name); made != pod.made_claims.end() && !made->second) {
    return;  // The status says that this pod needs none.
  }
  const auto name = NameOf(objects, pod, wanted);
  if (name) {
    const manifests::Claim* claim = FindClaim(objects, pod.namespace_name, *name);
    if (claim != nullptr) return AddClaim(subject, *claim, wanted.name);
    if (!wanted.template_name || live) {
      subject.claims.push_back({.claim = Format("{}/{}", pod.namespace_name, *name),
                                .as = wanted.name,
                                .state = "ResourceClaim does not exist",
                                .blocks = true});
      return;
    }
  }
  if (wanted.template_name) return AddFromTemplate(subject, objects, wanted, live);
  subject.claims.push_back({.claim = wanted.name,
                            .as = wanted.name,
                            .state = "the pod names neither a claim nor a template",
                            .blocks = true});
}

std::unexpected<Error> NoSuch(const Target& target, const std::vector<std::string>& names, bool live) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = NearMatch(target.name, views);
  const std::string where = live ? "" : " in the files given";
  return BadConfig("NoSuchObject", Format("there is no {}{}", ToText(target), where),
                   near ? Format("did you mean {}?", *near) : "check the name and the namespace (-n)");
}

void NoteExtendedResources(Subject& subject) {
  std::set<std::string> names;
  for (const auto* containers : {&subject.pod->spec.init_containers, &subject.pod->spec.containers}) {
    for (const manifests::Container& container : *containers) {
      names.insert(container.extended_resources.begin(), container.extended_resources.end());
    }
  }
  if (names.empty()) return;
  const std::vector<std::string> listed(names.begin(), names.end());
  subject.notes.push_back(Format("extended resources are not looked at: {}", Join(listed, ", ")));
}

}  // namespace

std::string ToText(const Target& target) {
  return Format("{} {}/{}", target.kind == Target::Kind::kPod ? "pod" : "claim", target.namespace_name, target.name);
}

const manifests::Claim* FindClaim(const manifests::Objects& objects, std::string_view namespace_name,
                                  std::string_view name) {
  const auto found = std::ranges::find_if(objects.claims, [&](const manifests::Claim& claim) {
    return claim.object.ref.namespace_name == namespace_name && claim.object.ref.name == name;
  });
  return found == objects.claims.end() ? nullptr : &*found;
}

Result<Subject> FindSubject(const manifests::Objects& objects, const Target& target, bool live) {
  Subject subject;
  std::vector<std::string> names;
  if (target.kind == Target::Kind::kClaim) {
    if (const auto* claim = FindClaim(objects, target.namespace_name, target.name)) {
      AddClaim(subject, *claim, "");
      return subject;
    }
    for (const manifests::Claim& claim : objects.claims) names.push_back(claim.object.ref.name);
    return NoSuch(target, names, live);
  }
  for (const manifests::Pod& pod : objects.pods) {
    names.push_back(pod.name);
    if (pod.namespace_name == target.namespace_name && pod.name == target.name) subject.pod = &pod;
  }
  if (subject.pod == nullptr) return NoSuch(target, names, live);
  for (const manifests::PodClaim& wanted : subject.pod->spec.claims) AddPodClaim(subject, objects, wanted, live);
  NoteExtendedResources(subject);
  return subject;
}

}  // namespace tessera::inspect
