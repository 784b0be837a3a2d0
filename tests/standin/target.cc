#include "tests/standin/target.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace tessera::standin {
namespace {

// resource.k8s.io's, and what the others have in common. spec.pool.name is selectable from Kubernetes 1.37 on.
constexpr std::array<std::string_view, 7> kSelectable{"metadata.name",      "metadata.namespace", "spec.nodeName",
                                                      "spec.driver",        "spec.pool.name",     "involvedObject.kind",
                                                      "involvedObject.name"};

std::string_view TextAt(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  for (const std::string_view step : Split(path, '.')) {
    const json::Object* inner = at->if_object();
    at = inner ? inner->if_contains(step) : nullptr;
    if (!at) return {};
  }
  const json::String* text = at->if_string();
  return text ? std::string_view(*text) : std::string_view();
}

}  // namespace

std::optional<Target> ParseTarget(std::string_view path) {
  std::vector<std::string_view> parts = Split(path.substr(path.starts_with('/') ? 1 : 0), '/');
  if (std::ranges::find(parts, "") != parts.end()) return std::nullopt;
  std::span<const std::string_view> rest(parts);
  Target target;
  if (rest.size() >= 3 && rest[0] == "api") {
    target.version = rest[1];
    rest = rest.subspan(2);
  } else if (rest.size() >= 4 && rest[0] == "apis") {
    target.key.group = rest[1];
    target.version = rest[2];
    rest = rest.subspan(3);
  } else {
    return std::nullopt;
  }
  // "namespaces/a" is the namespace itself, "namespaces/a/status" too; "namespaces/a/pods" is what lives in it.
  if (rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status") {
    target.key.ns = rest[1];
    rest = rest.subspan(2);
  }
  if (rest.size() > 3) return std::nullopt;
  target.key.resource = rest[0];
  if (rest.size() > 1) target.key.name = rest[1];
  if (rest.size() > 2) target.subresource = rest[2];
  return target;
}

std::expected<FieldSelector, std::string> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  if (text.empty()) return selector;
  for (const std::string_view term : Split(text, ',')) {
    const auto sides = Cut(term, "=");
    if (!sides) return std::unexpected(Format("invalid selector: '{}'; can't understand '{}'", text, term));
    auto [path, value] = *sides;
    const bool equal = !path.ends_with('!');
    if (!equal) path.remove_suffix(1);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (std::ranges::find(kSelectable, path) == kSelectable.end()) {
      return std::unexpected(Format("field label not supported: {}", path));
    }
    selector.terms_.push_back({std::string(path), std::string(value), equal});
  }
  return selector;
}

bool FieldSelector::Matches(const json::Value& object) const {
  return std::ranges::all_of(terms_,
                             [&](const Term& term) { return (TextAt(object, term.path) == term.value) == term.equal; });
}

std::string_view KindOf(std::string_view resource) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kKinds{
      {{"deviceclasses", "DeviceClass"},
       {"devicetaintrules", "DeviceTaintRule"},
       {"events", "Event"},
       {"leases", "Lease"},
       {"namespaces", "Namespace"},
       {"nodes", "Node"},
       {"pods", "Pod"},
       {"resourceclaims", "ResourceClaim"},
       {"resourceclaimtemplates", "ResourceClaimTemplate"},
       {"resourceslices", "ResourceSlice"}}};
  const auto found = std::ranges::find(kKinds, resource, &std::pair<std::string_view, std::string_view>::first);
  return found == kKinds.end() ? std::string_view() : found->second;
}

}  // namespace tessera::standin
