#include "cdi/apply.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <ranges>
#include <set>
#include <utility>

#include "base/text.h"

namespace tessera::cdi {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::unexpected<Error> WrongType(std::string_view key, std::string_view wanted) {
  return BadConfig("BadOciConfig", Format("config.json: {} is not {}", key, wanted));
}

// The member `key`, made where it is missing or null.
Result<Object*> ObjectIn(Object& parent, std::string_view key) {
  Value& value = parent[key];
  if (value.is_null()) value.emplace_object();
  if (Object* object = value.if_object()) return object;
  return WrongType(key, "an object");
}

Result<Array*> ArrayIn(Object& parent, std::string_view key) {
  Value& value = parent[key];
  if (value.is_null()) value.emplace_array();
  if (Array* array = value.if_array()) return array;
  return WrongType(key, "a list");
}

std::string_view TextOf(const Value& value) {
  const json::String* text = value.if_string();
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::string_view TextAt(const Value& value, std::string_view key) {
  const Object* object = value.if_object();
  const Value* member = object != nullptr ? object->if_contains(key) : nullptr;
  return member != nullptr ? TextOf(*member) : std::string_view();
}

void RemoveWhere(Array& array, std::string_view key, std::string_view text) {
  const auto* const found = std::ranges::find_if(array, [&](const Value& item) { return TextAt(item, key) == text; });
  if (found != array.end()) array.erase(found);
}

Array ListOf(std::span<const std::string> texts) {
  Array list;
  for (const std::string& text : texts) list.emplace_back(std::string_view(text));
  return list;
}

// ---- Environment: a variable that is there already gets the new value; getenv() would find the old one first.

Result<void> AddEnv(Object& config, std::span<const std::string> env) {
  if (env.empty()) return {};
  TESSERA_ASSIGN(Object* const process, ObjectIn(config, "process"));
  TESSERA_ASSIGN(Array* const list, ArrayIn(*process, "env"));
  for (const std::string& variable : env) {
    const std::string prefix = variable.substr(0, variable.find('=')) + "=";
    auto* const found = std::ranges::find_if(*list, [&](const Value& v) { return TextOf(v).starts_with(prefix); });
    if (found != list->end()) {
      *found = std::string_view(variable);
    } else {
      list->emplace_back(std::string_view(variable));
    }
  }
  return {};
}

Result<void> AddGids(Object& config, std::span<const std::uint32_t> gids) {
  for (const std::uint32_t gid : gids) {
    if (gid == 0) continue;
    TESSERA_ASSIGN(Object* const process, ObjectIn(config, "process"));
    TESSERA_ASSIGN(Object* const user, ObjectIn(*process, "user"));
    TESSERA_ASSIGN(Array* const list, ArrayIn(*user, "additionalGids"));
    const auto same = [&](const Value& v) { return v.is_number() && v.to_number<double>() == gid; };
    if (std::ranges::none_of(*list, same)) list->emplace_back(gid);
  }
  return {};
}

// ---- Device nodes.

std::string_view NodeType(mode_t mode) {
  if (S_ISCHR(mode)) return "c";
  if (S_ISBLK(mode)) return "b";
  if (S_ISFIFO(mode)) return "p";
  return {};
}

// Fills in what the spec leaves out from the node on this machine. One that names type and major may be absent.
Result<DeviceNode> Complete(DeviceNode node) {
  const std::string& host = node.host_path.empty() ? node.path : node.host_path;
  const bool has_major = node.major.value_or(0) != 0;
  const bool specified = !node.type.empty() && (has_major || node.type == "p");
  struct stat status{};
  const bool found = ::lstat(host.c_str(), &status) == 0;
  const std::string_view type = found ? NodeType(status.st_mode) : std::string_view();
  if (type.empty()) {
    if (specified) return node;
    if (!found) return FromErrno(errno, "NoDeviceNode", Format("looking at device node {}", Quote(host)));
    return BadConfig("NoDeviceNode", Format("{} is not a device node", Quote(host)));
  }
  if (!node.file_mode) node.file_mode = status.st_mode & 07777;
  if (specified) return node;
  if (node.type.empty()) node.type = type;
  if (node.type != type) {
    return BadConfig("NoDeviceNode", Format("{} is of type {}, the spec says {}", Quote(host), type, node.type));
  }
  if (!has_major && type != "p") {
    node.major = static_cast<std::int64_t>(major(status.st_rdev));
    node.minor = static_cast<std::int64_t>(minor(status.st_rdev));
  }
  return node;
}

// The id of the container's process, which a node gets unless the spec names one. Root is left out.
void InheritId(const Object& config, std::string_view key, Object& device) {
  if (device.contains(key)) return;
  const Value* process = config.if_contains("process");
  const Value* user = process != nullptr && process->is_object() ? process->get_object().if_contains("user") : nullptr;
  const Value* id = user != nullptr && user->is_object() ? user->get_object().if_contains(key) : nullptr;
  if (id != nullptr && id->is_number() && id->to_number<double>() > 0) device[key] = *id;
}

Result<void> AddDeviceNode(Object& config, const DeviceNode& given) {
  TESSERA_ASSIGN(const DeviceNode node, Complete(given));
  Object device{{"path", std::string_view(node.path)},
                {"type", std::string_view(node.type)},
                {"major", node.major.value_or(0)},
                {"minor", node.minor.value_or(0)}};
  if (node.file_mode) device["fileMode"] = *node.file_mode;
  if (node.gid) device["gid"] = *node.gid;
  InheritId(config, "uid", device);
  InheritId(config, "gid", device);

  TESSERA_ASSIGN(Object* const linux_config, ObjectIn(config, "linux"));
  TESSERA_ASSIGN(Array* const devices, ArrayIn(*linux_config, "devices"));
  RemoveWhere(*devices, "path", node.path);
  devices->emplace_back(std::move(device));
  if (node.type != "b" && node.type != "c") return {};
  TESSERA_ASSIGN(Object* const resources, ObjectIn(*linux_config, "resources"));
  TESSERA_ASSIGN(Array* const rules, ArrayIn(*resources, "devices"));
  const std::string_view access = node.permissions.empty() ? std::string_view("rwm") : node.permissions;
  rules->emplace_back(Object{{"allow", true},
                             {"type", std::string_view(node.type)},
                             {"major", node.major.value_or(0)},
                             {"minor", node.minor.value_or(0)},
                             {"access", access}});
  return {};
}

// ---- Mounts.

bool HasUserNamespace(Object& config) {
  const Value* linux_config = config.if_contains("linux");
  if (linux_config == nullptr || !linux_config->is_object()) return false;
  const Value* namespaces = linux_config->get_object().if_contains("namespaces");
  if (namespaces == nullptr || !namespaces->is_array()) return false;
  return std::ranges::any_of(namespaces->get_array(), [](const Value& v) { return TextAt(v, "type") == "user"; });
}

// In a user namespace a bind mount needs the container's ids.
std::vector<std::string> WithIdMap(std::vector<std::string> options) {
  const auto has = [&](std::string_view option) { return std::ranges::find(options, option) != options.end(); };
  if (has("idmap") || has("ridmap")) return options;
  if (has("rbind")) {
    options.emplace_back("ridmap");
  } else if (has("bind")) {
    options.emplace_back("idmap");
  }
  return options;
}

std::ptrdiff_t Depth(const Value& mount) {
  const std::string path = std::filesystem::path(TextAt(mount, "destination")).lexically_normal().string();
  const std::string_view clean = path.size() > 1 && path.ends_with('/')
                                     ? std::string_view(path).substr(0, path.size() - 1)
                                     : std::string_view(path);
  return std::ranges::count(clean, '/');
}

Result<void> AddMounts(Object& config, std::span<const Mount> mounts) {
  if (mounts.empty()) return {};
  const bool mapped = HasUserNamespace(config);
  TESSERA_ASSIGN(Array* const list, ArrayIn(config, "mounts"));
  for (const Mount& mount : mounts) {
    RemoveWhere(*list, "destination", mount.container_path);
    list->emplace_back(Object{{"destination", std::string_view(mount.container_path)},
                              {"source", std::string_view(mount.host_path)},
                              {"options", ListOf(mapped ? WithIdMap(mount.options) : mount.options)}});
  }
  std::vector<Value> sorted(list->begin(), list->end());
  std::ranges::stable_sort(sorted, {}, Depth);  // A mount comes after those it lies below.
  std::ranges::move(sorted, list->begin());
  return {};
}

Result<void> AddHook(Object& config, const Hook& hook) {
  constexpr std::array<std::string_view, 6> kStages{"prestart",       "createRuntime", "createContainer",
                                                    "startContainer", "poststart",     "poststop"};
  if (std::ranges::find(kStages, hook.name) == kStages.end()) {
    return BadConfig("BadHook", Format("{} is not a hook of OCI runtimes", Quote(hook.name)));
  }
  TESSERA_ASSIGN(Object* const hooks, ObjectIn(config, "hooks"));
  TESSERA_ASSIGN(Array* const list, ArrayIn(*hooks, hook.name));
  Object entry{{"path", std::string_view(hook.path)}};
  if (!hook.args.empty()) entry["args"] = ListOf(hook.args);
  if (!hook.env.empty()) entry["env"] = ListOf(hook.env);
  list->emplace_back(std::move(entry));
  return {};
}

// ---- All together.

void Append(Edits& all, const Edits& more) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(all.env, more.env);
  append(all.device_nodes, more.device_nodes);
  append(all.mounts, more.mounts);
  append(all.hooks, more.hooks);
  append(all.additional_gids, more.additional_gids);
}

struct Found {
  const Spec* spec = nullptr;
  const Device* device = nullptr;
};

// The device of that name, when exactly one spec has it.
Found Find(std::span<const Spec> specs, const std::string& name) {
  Found found;
  for (const Spec& spec : specs) {
    for (const Device& device : spec.devices) {
      if (QualifiedName(spec, device) != name) continue;
      if (found.device != nullptr) return {};
      found = {&spec, &device};
    }
  }
  return found;
}

Result<Edits> Collect(std::span<const Spec> specs, std::span<const std::string> devices) {
  Edits all;
  std::set<const Spec*> used;
  std::vector<std::string> unresolved;
  for (const std::string& name : devices) {
    const Found found = Find(specs, name);
    if (found.device == nullptr) {
      unresolved.push_back(name);
      continue;
    }
    if (used.insert(found.spec).second) Append(all, found.spec->edits);
    Append(all, found.device->edits);
  }
  if (unresolved.empty()) return all;
  return BadConfig("UnresolvableDevices", Format("unresolvable CDI devices {}", Join(unresolved, ", ")),
                   "look for their spec in the CDI directories; a device in two of them is in none");
}

Result<void> ApplyEdits(Object& config, const Edits& edits) {
  TESSERA_TRY(AddEnv(config, edits.env));
  for (const DeviceNode& node : edits.device_nodes) TESSERA_TRY(AddDeviceNode(config, node));
  TESSERA_TRY(AddMounts(config, edits.mounts));
  for (const Hook& hook : edits.hooks) TESSERA_TRY(AddHook(config, hook));
  return AddGids(config, edits.additional_gids);
}

}  // namespace

Result<void> Apply(json::Value& config, std::span<const Spec> specs, std::span<const std::string> devices) {
  TESSERA_ASSIGN(const Edits edits, Collect(specs, devices));
  json::Value edited = config;
  Object* const object = edited.if_object();
  if (object == nullptr) return BadConfig("BadOciConfig", "config.json is not an object");
  TESSERA_TRY(ApplyEdits(*object, edits));
  config = std::move(edited);
  return {};
}

}  // namespace tessera::cdi
