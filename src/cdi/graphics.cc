#include "cdi/graphics.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cdi/nodes.h"
#include "cdi/root_dir.h"

namespace tessera::cdi {
namespace {

// "0000:3b:00.0": no path, whoever wrote it.
bool IsBusId(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

// "card1", "renderD128": what the kernel calls DRM nodes that programs open.
bool IsDrmNode(std::string_view name) {
  for (const std::string_view prefix : {"card", "renderD"}) {
    if (name.starts_with(prefix)) return ParseNumber<unsigned>(name.substr(prefix.size())).has_value();
  }
  return false;
}

}  // namespace

Edits FindGraphics(const Roots& roots, const std::string& hook_path, const std::string& bus_id) {
  Edits edits;
  const auto sysfs = RootDir::Open(roots.sysfs);
  const auto dev = RootDir::Open(roots.dev);
  if (!sysfs.has_value() || !dev.has_value() || !IsBusId(bus_id)) return edits;
  std::vector<std::string> nodes;
  for (const std::string& name : sysfs->List(Format("/bus/pci/devices/{}/drm", bus_id))) {
    std::string path = "/dev/dri/" + name;
    const auto node = IsDrmNode(name) ? dev->Find(path) : std::nullopt;
    if (!node || S_ISDIR(node->status.st_mode)) continue;
    AddNode(roots, path, node->status, edits);
    nodes.push_back(std::move(path));
  }
  std::vector<DriverFiles::Link> links;
  for (const std::string_view kind : {"card", "render"}) {
    std::string path = Format("/dev/dri/by-path/pci-{}-{}", bus_id, kind);
    const auto target = dev->ReadLink(path);
    const auto node = target ? dev->Find(path) : std::nullopt;
    if (node && std::ranges::find(nodes, node->path) != nodes.end()) links.push_back({*target, std::move(path)});
  }
  if (!links.empty()) edits.hooks.push_back(MakeLinksHook(hook_path, links));
  return edits;
}

}  // namespace tessera::cdi
