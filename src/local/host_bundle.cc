#include "local/host_bundle.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "cdi/apply.h"
#include "json/value.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;

// What containers usually have: not CAP_MKNOD, with which any device could be made again.
constexpr std::array<const char*, 12> kRootCapabilities{
    "CAP_AUDIT_WRITE",      "CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",    "CAP_KILL", "CAP_SETFCAP",
    "CAP_NET_BIND_SERVICE", "CAP_SETGID", "CAP_SETPCAP",      "CAP_SETUID", "CAP_SYS_CHROOT"};

template <class List>
json::Array ListOf(const List& items) {
  json::Array list;
  for (const auto& item : items) list.emplace_back(item);
  return list;
}

json::Object Mount(const std::string& destination, std::string_view type, std::string_view source,
                   json::Array options) {
  return {{"destination", destination}, {"type", type}, {"source", source}, {"options", std::move(options)}};
}

// One mount for each directory of this machine's root; links are made again.
Result<json::Array> MountEverything(const fs::path& rootfs) {
  json::Array mounts;
  std::error_code error;
  for (fs::directory_iterator at("/", error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    std::error_code ignored;
    if (at->is_symlink(ignored)) {
      fs::copy_symlink(at->path(), rootfs / at->path().filename(), ignored);
    } else if (at->is_directory(ignored) && path != "/dev") {
      mounts.push_back(Mount(path, "bind", path, {"rbind", "rslave"}));
    }
  }
  if (error) return FromErrno(error.value(), "BundleFailed", "listing /");
  return mounts;
}

json::Array MountDev(json::Array mounts, const cdi::Roots& roots) {
  mounts.push_back(Mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}));
  mounts.push_back(
      Mount("/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}));
  mounts.push_back(Mount("/dev/shm", "bind", "/dev/shm", {"rbind", "rslave"}));
  if (roots.dev != "/") {
    mounts.push_back(Mount((roots.dev / "dev").string(), "tmpfs", "tmpfs", {"nosuid", "mode=755", "size=1024k"}));
  }
  return mounts;
}

json::Value ProcessOf(const HostBundle& bundle) {
  json::Object capabilities;
  if (bundle.user == 0) {
    for (const char* set : {"bounding", "effective", "permitted"}) capabilities[set] = ListOf(kRootCapabilities);
  }
  return {{"terminal", false},
          {"user", {{"uid", 0}, {"gid", bundle.user == 0 ? bundle.group : 0}}},
          {"args", ListOf(bundle.command)},
          {"env", ListOf(bundle.environment)},
          {"cwd", bundle.working_directory.string()},
          {"capabilities", std::move(capabilities)},
          {"noNewPrivileges", true}};
}

json::Value LinuxOf(const HostBundle& bundle) {
  json::Object config{{"namespaces", json::Array{json::Object{{"type", "mount"}}}}};
  if (bundle.user == 0) {
    const json::Object everything{{"allow", false}, {"access", "rwm"}};
    config["resources"] = {{"devices", json::Array{everything}}};
  }
  return config;
}

// An ordinary user needs a user namespace, and has no control group to change. It is called root there: neither runtime
// makes a namespace without a root.
void AddUserNamespace(json::Value& config, const HostBundle& bundle) {
  const auto only = [](std::uint32_t id) {
    return json::Array{json::Object{{"containerID", 0}, {"hostID", id}, {"size", 1}}};
  };
  json::Object& linux_config = config.at("linux").as_object();
  linux_config.at("namespaces").as_array().push_back(json::Object{{"type", "user"}});
  linux_config["uidMappings"] = only(bundle.user);
  linux_config["gidMappings"] = only(bundle.group);
}

void AddAgain(std::vector<cdi::DeviceNode>& nodes, const fs::path& root) {
  const std::vector<cdi::DeviceNode> before = nodes;
  for (cdi::DeviceNode node : before) {
    node.path = (root / fs::path(node.path).relative_path()).string();
    nodes.push_back(std::move(node));
  }
}

// An ordinary user can make no nodes. Runtimes mount those of "/dev" instead, but not those of another place.
void MountNodes(cdi::Edits& edits) {
  for (cdi::DeviceNode& node : edits.device_nodes) {
    edits.mounts.push_back({.host_path = node.host_path, .container_path = node.path, .options = {"bind", "rw"}});
  }
  edits.device_nodes.clear();
}

// The specs without files and hooks, and their nodes a second time where the driver root has a /dev of its own.
std::vector<cdi::Spec> NodesOnly(std::vector<cdi::Spec> specs, const HostBundle& bundle) {
  const auto strip = [&](cdi::Edits& edits) {
    edits.mounts.clear();
    edits.hooks.clear();
    for (cdi::DeviceNode& node : edits.device_nodes) {
      if (node.host_path.empty()) node.host_path = node.path;
    }
    if (bundle.roots.dev != "/") AddAgain(edits.device_nodes, bundle.roots.dev);
    if (bundle.user != 0) MountNodes(edits);
  };
  for (cdi::Spec& spec : specs) {
    strip(spec.edits);
    for (cdi::Device& device : spec.devices) strip(device.edits);
    std::erase_if(spec.devices, [](const cdi::Device& device) { return device.edits.empty(); });
  }
  return specs;
}

std::vector<std::string> DevicesOf(const std::vector<cdi::Spec>& specs) {
  std::vector<std::string> names;
  for (const cdi::Spec& spec : specs) {
    for (const cdi::Device& device : spec.devices) names.push_back(cdi::QualifiedName(spec, device));
  }
  return names;
}

// `first` before what the variable holds.
void Prepend(std::vector<std::string>& environment, const std::string& name, const std::set<std::string>& first) {
  if (first.empty()) return;
  std::string value = Join(std::vector(first.begin(), first.end()), ":");
  const std::string prefix = name + "=";
  const auto found = std::ranges::find_if(environment, [&](const auto& text) { return text.starts_with(prefix); });
  if (found != environment.end()) value += ":" + found->substr(prefix.size());
  SetVariable(environment, name, value);
}

}  // namespace

void SetVariable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const std::string prefix = name + "=";
  std::erase_if(environment, [&](const std::string& text) { return text.starts_with(prefix); });
  environment.push_back(prefix + value);
}

void ShowDriver(const std::vector<cdi::Spec>& specs, const cdi::Roots& roots, std::vector<std::string>& environment) {
  if (roots.driver == "/") return;
  std::set<std::string> libraries, programs;
  for (const cdi::Spec& spec : specs) {
    for (const cdi::Mount& mount : spec.edits.mounts) {
      const fs::path file = mount.host_path;
      if (file.filename().string().find(".so") != std::string::npos) libraries.insert(file.parent_path().string());
      if (file.parent_path().filename() == "bin") programs.insert(file.parent_path().string());
    }
  }
  Prepend(environment, "LD_LIBRARY_PATH", libraries);
  Prepend(environment, "PATH", programs);
}

Result<void> WriteHostBundle(const HostBundle& bundle) {
  TESSERA_TRY(MakeDirectory(bundle.directory / "rootfs", 0755));
  TESSERA_ASSIGN(json::Array mounts, MountEverything(bundle.directory / "rootfs"));
  json::Value config{{"ociVersion", "1.0.2"},
                     {"root", {{"path", "rootfs"}, {"readonly", false}}},
                     {"process", ProcessOf(bundle)},
                     {"mounts", MountDev(std::move(mounts), bundle.roots)},
                     {"linux", LinuxOf(bundle)}};
  const std::vector<cdi::Spec> specs = NodesOnly(bundle.specs, bundle);
  TESSERA_TRY(cdi::Apply(config, specs, DevicesOf(specs)));
  // After it: in a user namespace it would have mounts map ids, which takes rights that an ordinary user lacks.
  if (bundle.user != 0) AddUserNamespace(config, bundle);
  return ReplaceFile(bundle.directory / "config.json", json::PrintJson(config, 2) + "\n", 0600);
}

}  // namespace tessera::local
