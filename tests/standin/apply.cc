#include "tests/standin/apply.h"

#include <algorithm>

#include "base/text.h"
#include "tests/standin/status.h"

namespace tessera::standin {
namespace {

constexpr std::size_t kMaxData = std::size_t{10} << 10;
constexpr std::size_t kMaxConditions = 8;

const json::Value* Find(const json::Object& object, std::initializer_list<std::string_view> path) {
  const json::Value* found = nullptr;
  const json::Object* inside = &object;
  for (const std::string_view name : path) {
    found = inside != nullptr ? inside->if_contains(name) : nullptr;
    if (found == nullptr) return nullptr;
    inside = found->if_object();
  }
  return found;
}

json::Array ListAt(const json::Object& object, std::initializer_list<std::string_view> path) {
  const json::Value* found = Find(object, path);
  return found != nullptr && found->is_array() ? found->as_array() : json::Array();
}

std::string Text(const json::Value& entry, std::string_view name) {
  const json::Value* found = entry.as_object().if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

std::string KeyOf(const json::Value& entry) {
  return Format("{}/{}/{}/{}", Text(entry, "driver"), Text(entry, "pool"), Text(entry, "device"),
                Text(entry, "shareID"));
}

std::set<std::string> Allocated(const json::Object& claim) {
  std::set<std::string> keys;
  for (const json::Value& result : ListAt(claim, {"status", "allocation", "devices", "results"})) {
    keys.insert(KeyOf(result));
  }
  return keys;
}

// What the API server's validation says of an entry, as far as a driver may trip over it.
std::string Fault(const json::Value& entry, const std::set<std::string>& allocated) {
  if (!allocated.contains(KeyOf(entry))) return "must be an allocated device in the claim";
  if (ListAt(entry.as_object(), {"conditions"}).size() > kMaxConditions) return "conditions: too many";
  const json::Value* data = entry.as_object().if_contains("data");
  if (data != nullptr && json::PrintJson(*data).size() > kMaxData) return "data: may not be more than 10240 bytes";
  return "";
}

// `into` with the items of `from`; those with the same key are replaced.
template <class Key, class Merge>
void MergeList(json::Array& into, const json::Array& from, const Key& key, const Merge& merge) {
  for (const json::Value& item : from) {
    auto* const same = std::find_if(into.begin(), into.end(), [&](const auto& old) { return key(old) == key(item); });
    if (same == into.end()) {
      into.push_back(item);
    } else {
      merge(*same, item);
    }
  }
}

void MergeEntry(json::Value& into, const json::Value& from) {
  json::Array conditions = ListAt(into.as_object(), {"conditions"});
  MergeList(
      conditions, ListAt(from.as_object(), {"conditions"}), [](const auto& c) { return Text(c, "type"); },
      [](json::Value& old, const json::Value& item) { old = item; });
  for (const auto& field : from.as_object()) into.as_object()[field.key()] = field.value();
  into.as_object()["conditions"] = std::move(conditions);
}

}  // namespace

std::optional<Answer> AppliedDevices::Apply(const Key& key, const std::string& manager, const json::Object& before,
                                            const json::Object& patch, json::Object& merged) {
  const json::Array applied = ListAt(patch, {"status", "devices"});
  const std::set<std::string> allocated = Allocated(before);
  std::set<std::string> keys;
  for (const json::Value& entry : applied) {
    if (!entry.is_object()) return Refuse(422, "status.devices: Invalid value", key);
    const std::string fault = Fault(entry, allocated);
    if (!fault.empty()) return Refuse(422, Format("status.devices: Invalid value: {}: {}", KeyOf(entry), fault), key);
    keys.insert(KeyOf(entry));
  }
  std::set<std::string>& owned = owned_[{Text(before.at("metadata"), "uid"), manager}];
  json::Array devices;
  for (const json::Value& old : ListAt(before, {"status", "devices"})) {
    if (!owned.contains(KeyOf(old)) || keys.contains(KeyOf(old))) devices.push_back(old);
  }
  MergeList(devices, applied, KeyOf, MergeEntry);
  owned = std::move(keys);
  merged["status"].as_object()["devices"] = std::move(devices);
  return std::nullopt;
}

}  // namespace tessera::standin
