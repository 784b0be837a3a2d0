#include "driver/slice_plan.h"

#include <algorithm>

#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

const json::Value* At(const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* at = &object;
  for (const std::string_view key : path) {
    const json::Object* fields = at->if_object();
    at = fields == nullptr ? nullptr : fields->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::int64_t GenerationOf(const json::Value& object) {
  const json::Value* generation = At(object, {"spec", "pool", "generation"});
  return generation != nullptr && generation->is_int64() ? generation->get_int64() : 0;
}

// A place in the order of names: a slice that is there, or one to be made.
struct Slot {
  std::string name;  // Of a new one: its prefix.
  const json::Value* stored = nullptr;
};

std::vector<Slot> MakeSlots(const std::vector<api::ResourceSlice>& wanted,
                            const std::vector<const json::Value*>& kept) {
  std::vector<Slot> slots;
  for (const json::Value* object : kept) slots.push_back({TextAt(*object, {"metadata", "name"}), object});
  const auto taken = [&](const std::string& prefix) {
    return std::ranges::any_of(slots, [&](const Slot& slot) { return slot.name.starts_with(prefix.substr(0, 6)); });
  };
  for (std::size_t index = 0; slots.size() < wanted.size(); ++index) {
    if (std::string prefix = device::SliceNamePrefix(index, wanted.front().node_name); !taken(prefix))
      slots.push_back({std::move(prefix)});
  }
  std::ranges::sort(slots, {}, &Slot::name);
  return slots;
}

// A taint that stays keeps the time it was added: a new time would restart its eviction clock.
void KeepTaintTimes(json::Value& wanted, const json::Value& stored) {
  if (json::Array* list = wanted.if_array(); list != nullptr && stored.is_array()) {
    for (json::Value& item : *list) {
      for (const json::Value& other : stored.get_array()) {
        const bool same_name = TextAt(item, {"name"}) == TextAt(other, {"name"}) && !TextAt(item, {"name"}).empty();
        const bool same_taint = TextAt(item, {"key"}) == TextAt(other, {"key"}) && !TextAt(item, {"key"}).empty() &&
                                TextAt(item, {"value"}) == TextAt(other, {"value"}) &&
                                TextAt(item, {"effect"}) == TextAt(other, {"effect"});
        if (same_name || same_taint) KeepTaintTimes(item, other);
      }
    }
    return;
  }
  json::Object* fields = wanted.if_object();
  if (fields == nullptr || !stored.is_object()) return;
  if (fields->contains("key") && fields->contains("effect")) {
    if (const json::Value* time = stored.get_object().if_contains("timeAdded")) fields->emplace("timeAdded", *time);
    return;
  }
  for (auto& item : *fields) {
    if (const json::Value* other = stored.get_object().if_contains(item.key())) KeepTaintTimes(item.value(), *other);
  }
}

bool IsRight(const json::Value& wanted, const Slot& slot, const std::map<std::string, Accepted>& accepted) {
  const json::Value& spec = wanted.at("spec");
  const json::Value* stored = At(*slot.stored, {"spec"});
  const json::Value* owners = At(*slot.stored, {"metadata", "ownerReferences"});
  const json::Value* owned = At(wanted, {"metadata", "ownerReferences"});
  if (stored == nullptr) return false;
  if (owned != nullptr && (owners == nullptr || !api::Differences(*owned, *owners, "", 1).empty())) return false;
  if (api::Differences(spec, *stored, "spec", 1).empty()) return true;
  const auto known = accepted.find(slot.name);
  return known != accepted.end() && api::Differences(known->second.wanted, spec, "spec", 1).empty() &&
         api::Differences(known->second.stored, *stored, "spec", 1).empty();
}

SliceWrite Update(json::Value wanted, const Slot& slot) {
  json::Object metadata = At(*slot.stored, {"metadata"})->as_object();
  metadata.erase("managedFields");
  if (const json::Value* owners = At(wanted, {"metadata", "ownerReferences"})) metadata["ownerReferences"] = *owners;
  if (const json::Value* spec = At(*slot.stored, {"spec"})) KeepTaintTimes(wanted.as_object()["spec"], *spec);
  wanted.as_object()["metadata"] = std::move(metadata);
  return {slot.name, TextAt(*slot.stored, {"metadata", "uid"}), TextAt(*slot.stored, {"metadata", "resourceVersion"}),
          std::move(wanted)};
}

}  // namespace

std::string TextAt(const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* at = At(object, path);
  return at != nullptr && at->is_string() ? std::string(at->get_string()) : std::string();
}

std::string LastManager(const json::Value& object) {
  const json::Value* fields = At(object, {"metadata", "managedFields"});
  if (fields == nullptr || !fields->is_array()) return {};
  std::string manager, newest;
  for (const json::Value& entry : fields->get_array()) {
    if (const std::string time = TextAt(entry, {"time"}); time >= newest) {
      newest = time;
      manager = TextAt(entry, {"manager"});
    }
  }
  return manager;
}

SlicePlan PlanSlices(const std::vector<api::ResourceSlice>& wanted, const std::vector<json::Value>& stored,
                     std::string_view version, const std::map<std::string, Accepted>& accepted) {
  std::vector<const json::Value*> kept;
  for (const json::Value& object : stored) kept.push_back(&object);
  std::ranges::sort(kept, {}, [](const json::Value* object) { return TextAt(*object, {"metadata", "name"}); });

  SlicePlan plan;
  for (const json::Value* object : kept) plan.generation = std::max(plan.generation, GenerationOf(*object));
  while (kept.size() > wanted.size()) {
    const json::Value& surplus = *kept.back();
    plan.deletes.push_back({TextAt(surplus, {"metadata", "name"}), TextAt(surplus, {"metadata", "uid"}),
                            TextAt(surplus, {"metadata", "resourceVersion"}), nullptr});
    kept.pop_back();
  }
  const std::vector<Slot> slots = MakeSlots(wanted, kept);
  const auto content = [&](std::size_t index) {
    api::ResourceSlice slice = wanted[index];
    slice.pool_generation = plan.generation;
    slice.pool_slice_count = static_cast<std::int64_t>(wanted.size());
    slice.generate_name = slots[index].name;
    return api::ToJson(slice, version);
  };
  std::size_t changed = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].stored != nullptr && !IsRight(content(i), slots[i], accepted)) ++changed;
  }
  const bool created = kept.size() < wanted.size();
  const bool bump = created || !plan.deletes.empty() || changed > 1;
  if (bump) ++plan.generation;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].stored == nullptr) {
      plan.creates.push_back({{}, {}, {}, content(i)});
    } else if (bump || !IsRight(content(i), slots[i], accepted)) {
      plan.updates.push_back(Update(content(i), slots[i]));
    }
  }
  return plan;
}

}  // namespace tessera::driver
