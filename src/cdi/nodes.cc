#include "cdi/nodes.h"

#include <sys/sysmacros.h>

#include <algorithm>

namespace tessera::cdi {

std::string OnHost(const std::filesystem::path& host_root, std::string_view path) {
  return (host_root / std::filesystem::path(path).relative_path()).lexically_normal().string();
}

const std::string& RealPath(const DriverFiles& files, const std::string& path) {
  const auto elsewhere = files.found_at.find(path);
  return elsewhere == files.found_at.end() ? path : elsewhere->second;
}

void AddNode(const Roots& roots, std::string path, const struct stat& status, Edits& edits) {
  DeviceNode node;
  if (std::string host = OnHost(roots.dev_host, path); host != path) node.host_path = std::move(host);
  node.path = std::move(path);
  if (S_ISCHR(status.st_mode)) {
    node.major = ::gnu_dev_major(status.st_rdev);
    node.minor = ::gnu_dev_minor(status.st_rdev);
    node.file_mode = status.st_mode & 0777U;
    node.permissions = "rwm";
    if (status.st_gid != 0) node.gid = status.st_gid;
    const bool for_all = (status.st_mode & 0006U) == 0006U;
    auto& gids = edits.additional_gids;
    if (node.gid && !for_all && std::ranges::find(gids, *node.gid) == gids.end()) gids.push_back(*node.gid);
  }
  edits.device_nodes.push_back(std::move(node));
}

Hook MakeHook(const std::string& program, std::vector<std::string> command) {
  command.insert(command.begin(), std::filesystem::path(program).filename().string());
  return {.name = "createContainer", .path = program, .args = std::move(command), .env = {"NVIDIA_CTK_DEBUG=false"}};
}

Hook MakeLinksHook(const std::string& program, const std::vector<DriverFiles::Link>& links) {
  std::vector<std::string> command{"create-symlinks"};
  for (const DriverFiles::Link& link : links) {
    command.emplace_back("--link");
    command.push_back(link.target + "::" + link.path);
  }
  return MakeHook(program, std::move(command));
}

}  // namespace tessera::cdi
