#include "tests/support/slice_rules.h"

#include <set>

#include "base/quantity.h"
#include "base/semver.h"
#include "base/text.h"

namespace tessera::tests {
namespace {

std::string Text(const json::Value& value) { return std::string(value.as_string()); }

bool IsDnsLabel(std::string_view text) { return IsDnsSubdomain(text, 63) && text.find('.') == std::string_view::npos; }

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 32 || (text.front() >= '0' && text.front() <= '9')) return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         std::string_view::npos;
}

bool IsQualifiedName(std::string_view text) {
  const auto parts = Cut(text, "/");
  return parts ? IsDnsSubdomain(parts->first, 63) && IsIdentifier(parts->second) : IsIdentifier(text);
}

void CheckAttribute(const json::Object& attribute, const std::string& path, std::vector<std::string>& faults) {
  if (attribute.size() != 1) faults.push_back(path + ": exactly one value must be set");
  const json::Value* text = attribute.if_contains("string");
  const json::Value* version = attribute.if_contains("version");
  for (const json::Value* value : {text, version}) {
    if (value != nullptr && Text(*value).size() > 64) faults.push_back(path + ": longer than 64 bytes");
  }
  if (version != nullptr && !Semver::Parse(Text(*version)).has_value()) faults.push_back(path + ": no strict semver");
}

void CheckDevice(const json::Object& device, std::set<std::string>& names, std::vector<std::string>& faults) {
  const std::string name = Text(device.at("name"));
  if (!IsDnsLabel(name)) faults.push_back(name + ": is no DNS label");
  if (!names.insert(name).second) faults.push_back(name + ": is there twice");
  std::size_t entries = 0;
  if (const json::Value* attributes = device.if_contains("attributes")) {
    for (const auto& item : attributes->as_object()) {
      const std::string path = name + "." + std::string(item.key());
      if (!IsQualifiedName(item.key())) faults.push_back(path + ": is no qualified name");
      CheckAttribute(item.value().as_object(), path, faults);
      ++entries;
    }
  }
  if (const json::Value* capacity = device.if_contains("capacity")) {
    for (const auto& item : capacity->as_object()) {
      const std::string path = name + "." + std::string(item.key());
      if (!IsQualifiedName(item.key())) faults.push_back(path + ": is no qualified name");
      const std::string value = Text(item.value().at("value"));
      const auto quantity = Quantity::Parse(value);
      // The server stores the canonical form; anything else would look like a change for ever.
      if (!quantity.has_value() || quantity->ToString() != value) faults.push_back(path + ": no canonical quantity");
      ++entries;
    }
  }
  if (entries > 32) faults.push_back(Format("{}: {} attributes and capacities, 32 are allowed", name, entries));
}

}  // namespace

std::vector<std::string> SliceFaults(const std::vector<json::Value>& slices) {
  std::vector<std::string> faults;
  std::set<std::string> names;
  for (const json::Value& slice : slices) {
    const json::Object& spec = slice.at("spec").as_object();
    if (!IsDnsSubdomain(Text(spec.at("driver")), 63)) faults.emplace_back("driver: is no DNS subdomain");
    if (!IsDnsSubdomain(Text(spec.at("nodeName")), 253)) faults.emplace_back("nodeName: is no DNS subdomain");
    if (spec.at("pool").at("resourceSliceCount") != static_cast<std::int64_t>(slices.size())) {
      faults.emplace_back("pool.resourceSliceCount: is not the number of slices");
    }
    const json::Value* devices = spec.if_contains("devices");
    if (devices == nullptr) continue;
    if (devices->as_array().empty()) faults.emplace_back("devices: an empty list must be left out");
    if (devices->as_array().size() > 64) faults.emplace_back("devices: more than 64");
    for (const json::Value& device : devices->as_array()) CheckDevice(device.as_object(), names, faults);
  }
  return faults;
}

}  // namespace tessera::tests
