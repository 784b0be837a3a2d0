// inspect/explain_subject.h: the claim or pod that somebody asks about, and which of its claims still need devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "alloc/plan.h"
#include "api/node_selector.h"
#include "base/error.h"
#include "manifests/objects.h"

namespace tessera::inspect {

struct Target {
  enum class Kind : std::uint8_t { kClaim, kPod } kind = Kind::kClaim;
  std::string namespace_name = "default", name;
};

// "claim default/a".
std::string ToText(const Target& target);

inline constexpr std::string_view kNeedsDevices = "needs devices";

// How far a claim has come.
struct ClaimProgress {
  std::string claim;    // "namespace/name", or of the template "from template t".
  std::string as;       // What the pod calls it; empty for a claim by itself.
  std::string state;    // One line: kNeedsDevices, "allocated: …".
  bool blocks = false;  // No device can help: a person or a controller must act first. `state` says which.
};

// Where a claim that has devices can be used.
struct AllocatedElsewhere {
  std::string claim;  // "default/a".
  api::NodeSelector nodes;
};

struct Subject {
  std::vector<ClaimProgress> claims;
  std::vector<alloc::Claim> open;                  // To be allocated together.
  std::vector<AllocatedElsewhere> reachable_from;  // Nodes must match all of these.
  const manifests::Pod* pod = nullptr;             // In the objects.
  std::vector<std::string> notes;                  // What is not looked at.
};

// NoSuchObject, with near names, when there is none. `live`: the objects are a cluster's, so a claim that is not there
// yet is missing, and not just left out of a file.
Result<Subject> FindSubject(const manifests::Objects& objects, const Target& target, bool live);

// The claim of that name, or null.
const manifests::Claim* FindClaim(const manifests::Objects& objects, std::string_view namespace_name,
                                  std::string_view name);

}  // namespace tessera::inspect
