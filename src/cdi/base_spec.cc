#include <algorithm>
#include <map>

#include "base/text.h"
#include "cdi/driver_files.h"
#include "cdi/nodes.h"
#include "cdi/root_dir.h"
#include "cdi/writer.h"

namespace tessera::cdi {
namespace {

std::vector<Mount> MakeMounts(const Roots& roots, const DriverFiles& files) {
  const std::vector<std::string> file_options{"ro", "nosuid", "nodev", "rbind", "rprivate"};
  const std::vector<std::string> socket_options{"nosuid", "nodev", "rbind", "rprivate", "noexec"};
  std::vector<Mount> mounts;
  const auto add = [&](const std::vector<std::string>& paths, const std::vector<std::string>& options) {
    for (const std::string& path : paths) {
      mounts.push_back({OnHost(roots.driver_host, RealPath(files, path)), path, options});
    }
  };
  for (const auto* paths : {&files.libraries, &files.binaries, &files.firmware, &files.configs}) {
    add(*paths, file_options);
  }
  add(files.sockets, socket_options);
  // Runtimes mount in the order of depth; so do we, that what one reads here is what happens.
  std::ranges::sort(mounts, {}, [](const Mount& mount) {
    return std::pair(std::ranges::count(mount.container_path, '/'), mount.container_path);
  });
  return mounts;
}

std::vector<Hook> MakeHooks(const DriverFiles& files, const std::string& program) {
  std::vector<std::string> update_cache{"update-ldcache"};
  for (const std::string& directory : files.directories) {
    update_cache.emplace_back("--folder");
    update_cache.push_back(directory);
  }
  std::vector<Hook> hooks;
  if (!files.links.empty()) hooks.push_back(MakeLinksHook(program, files.links));
  // Before update-ldcache, which reads the configuration that this one writes.
  hooks.push_back(MakeHook(program, {"enable-cuda-compat", "--host-driver-version=" + files.version}));
  hooks.push_back(MakeHook(program, std::move(update_cache)));
  hooks.push_back(MakeHook(program, {"disable-device-node-modification"}));
  hooks.push_back(MakeHook(program, {"update-application-profile"}));
  return hooks;
}

}  // namespace

Result<Spec> MakeBaseSpec(const Roots& roots, const DriverFiles& files, const std::string& hook_path) {
  Spec spec;
  spec.kind = kBaseKind;
  // Everything else stands at the level of the file, which runtimes apply once however often the device is named: the
  // kubelet hands over the ids of all claims as they are.
  spec.devices = {{std::string(kBaseDevice), Edits{.env = {"NVIDIA_VISIBLE_DEVICES=void"}}}};
  spec.edits.env = {"NVIDIA_CTK_LIBCUDA_DIR=" + Join(files.directories, ":")};
  if (!files.control_nodes.empty()) {
    TESSERA_ASSIGN(const RootDir dev, RootDir::Open(roots.dev));
    for (const std::string& path : files.control_nodes) {
      if (const auto node = dev.Find(path)) AddNode(roots, path, node->status, spec.edits);
    }
  }
  std::ranges::sort(spec.edits.additional_gids);
  spec.edits.mounts = MakeMounts(roots, files);
  spec.edits.hooks = MakeHooks(files, hook_path);
  TESSERA_TRY(Validate(spec));
  return spec;
}

}  // namespace tessera::cdi
