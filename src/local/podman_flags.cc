#include "local/podman_flags.h"

#include <algorithm>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "json/value.h"

namespace tessera::local {
namespace {

json::Array ListOf(const std::vector<std::string>& texts) { return json::Array(texts.begin(), texts.end()); }

// podman reads hooks from files of a form of its own, in the order of their names.
Result<void> WriteHook(const cdi::Hook& hook, const std::filesystem::path& file) {
  const json::Value value{{"version", "1.0.0"},
                          {"hook", {{"path", hook.path}, {"args", ListOf(hook.args)}, {"env", ListOf(hook.env)}}},
                          {"when", {{"always", true}}},
                          {"stages", json::Array{json::String(hook.name)}}};
  return ReplaceFile(file, json::PrintJson(value, 2) + "\n", 0600);
}

void AddFlags(const cdi::Edits& edits, std::vector<std::string>& flags) {
  for (const std::string& variable : edits.env) flags.push_back("--env=" + variable);
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    flags.push_back(Format("--device={}:{}", node.host_path.empty() ? node.path : node.host_path, node.path));
  }
  for (const cdi::Mount& mount : edits.mounts) {
    const bool read_only = std::ranges::find(mount.options, "ro") != mount.options.end();
    flags.push_back(
        Format("--mount=type=bind,src={},dst={}{}", mount.host_path, mount.container_path, read_only ? ",ro" : ""));
  }
}

}  // namespace

Result<std::vector<std::string>> PodmanFlags(const std::vector<cdi::Spec>& specs,
                                             const std::filesystem::path& hooks_dir) {
  std::vector<std::string> flags;
  std::vector<cdi::Hook> hooks;
  const auto add = [&](const cdi::Edits& edits) {
    AddFlags(edits, flags);
    hooks.insert(hooks.end(), edits.hooks.begin(), edits.hooks.end());
  };
  for (const cdi::Spec& spec : specs) {
    add(spec.edits);
    for (const cdi::Device& device : spec.devices) add(device.edits);
  }
  TESSERA_TRY(MakeDirectory(hooks_dir, 0700));
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    TESSERA_TRY(WriteHook(hooks[i], hooks_dir / Format("{:03}.json", i)));
  }
  flags.push_back("--hooks-dir=" + hooks_dir.string());
  // Nodes of /dev/dri are open to the user's own groups.
  flags.emplace_back("--group-add=keep-groups");
  return flags;
}

}  // namespace tessera::local
