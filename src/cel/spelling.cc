#include "cel/spelling.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/text.h"
#include "cel/source.h"

namespace tessera::cel {
namespace {

using Devices = std::vector<const DeviceFacts*>;

// Ids by domain, of attributes or of capacities.
using Names = std::set<std::pair<std::string_view, std::string_view>>;

Names NamesOf(const Devices& devices, bool of_capacity) {
  Names names;
  for (const DeviceFacts* device : devices) {
    if (of_capacity) {
      for (const CapacityFact& fact : device->capacity) names.emplace(fact.domain, fact.id);
    } else {
      for (const AttributeFact& fact : device->attributes) names.emplace(fact.domain, fact.id);
    }
  }
  return names;
}

bool KnowsDomain(const DeviceFacts& device, std::string_view domain) {
  const auto in_domain = [&](const auto& fact) { return fact.domain == domain; };
  return device.driver == domain || std::ranges::any_of(device.attributes, in_domain) ||
         std::ranges::any_of(device.capacity, in_domain);
}

// Puts `near` in the place of `name`, which stands at or after `from` with nothing but brackets and quotes in between.
void Replace(std::string& text, std::size_t from, std::string_view name, std::string_view near) {
  const std::size_t at = text.find(name, from);
  if (at == std::string::npos) return;
  if (std::string_view(text).substr(from, at - from).find_first_not_of(" \t\r\n.?['\"") != std::string_view::npos)
    return;
  text.replace(at, name.size(), near);
}

UnknownName Describe(const Reference& reference, const Devices& all) {
  UnknownName unknown{.reference = reference};
  Devices concerned;
  for (const DeviceFacts* device : all) {
    if (KnowsDomain(*device, reference.domain)) concerned.push_back(device);
  }
  unknown.domain_known = !concerned.empty();
  unknown.devices = unknown.domain_known ? concerned.size() : all.size();
  const Names names = NamesOf(unknown.domain_known ? concerned : all, reference.is_capacity);
  std::vector<std::string_view> candidates;
  for (const auto& [domain, id] : names) {
    if (unknown.domain_known && domain == reference.domain) candidates.push_back(id);
    if (!unknown.domain_known && id == reference.id) candidates.push_back(domain);
  }
  const auto near = NearMatch(unknown.domain_known ? reference.id : reference.domain, candidates);
  if (near) unknown.near = *near;
  return unknown;
}

}  // namespace

std::vector<UnknownName> FindUnknownNames(const DeviceSelector& selector, std::span<const DeviceFacts* const> devices) {
  std::vector<UnknownName> unknown;
  const Devices all(devices.begin(), devices.end());
  if (all.empty()) return unknown;
  for (const Reference& reference : selector.References()) {
    if (std::ranges::any_of(all, [&](const DeviceFacts* device) { return Has(*device, reference); })) continue;
    unknown.push_back(Describe(reference, all));
  }
  return unknown;
}

std::string Respell(std::string_view expression, std::span<const UnknownName> unknown) {
  std::string text(expression);
  for (std::size_t i = unknown.size(); i-- > 0;) {  // From the end, so that the offsets before stay true.
    const auto& [reference, domain_known, devices, near] = unknown[i];
    if (near.empty()) continue;
    if (domain_known) {
      Replace(text, reference.offset, reference.id, near);
    } else if (const std::size_t at = text.rfind(reference.domain, reference.offset); at != std::string::npos) {
      Replace(text, at, reference.domain, near);
    }
  }
  return text;
}

std::string Render(std::string_view expression, const UnknownName& unknown) {
  const Reference& reference = unknown.reference;
  const std::string_view map = reference.is_capacity ? "capacity" : "attributes";
  const std::string where = unknown.devices == 1 ? "the only device" : Format("any of {} devices", unknown.devices);
  std::string message = Format("device.{}['{}'].{}: no such {} on {}", map, reference.domain, reference.id,
                               reference.is_capacity ? "capacity" : "attribute", where);
  if (!unknown.near.empty()) message += Format("; did you mean {}?", unknown.near);
  return Render(expression, std::array{Problem{.offset = reference.offset, .message = std::move(message), .hint = {}}});
}

}  // namespace tessera::cel
