#include "cdi/driver_libraries.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/ldcache.h"
#include "base/text.h"
#include "cdi/elf_soname.h"

namespace tessera::cdi {
namespace {

using Folders = std::vector<std::string>;

// Every driver has these two; their file names end in its version.
constexpr auto kLandmarks = std::to_array<std::string_view>({"libcuda.so.", "libnvidia-ml.so."});

std::string FileName(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }
std::string FolderOf(std::string_view path) {
  return std::string(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
}
std::string Inside(std::string_view folder, std::string_view name) {
  return folder == "/" ? Format("/{}", name) : Format("{}/{}", folder, name);
}

// As the container toolkit looks.
Folders UsualFolders() {
  const std::string triplet = Format("{}-linux-gnu", kArchitecture);
  return {"/",
          "/usr/lib64",
          "/usr/lib/" + triplet,
          "/usr/lib/" + triplet + "/nvidia/current",
          "/lib64",
          "/lib/" + triplet,
          "/lib/" + triplet + "/nvidia/current"};
}

// Where distributions without multiarch have them (Arch, Talos, GKE's bundle). Searched last: on others, /usr/lib holds
// 32-bit libraries.
Folders OtherFolders() { return {"/usr/lib", "/lib", "/usr/local/nvidia/lib64"}; }

Folders CacheFolders(const RootDir& root, DriverFiles& files) {
  Folders folders;
  files.watched.emplace_back("/etc/ld.so.cache");
  const auto cache = root.Read("/etc/ld.so.cache", kMaxFileSize);
  if (!cache) return folders;
  for (const std::string_view landmark : kLandmarks) {
    const auto paths = LdCachePaths(*cache, Format("{}1", landmark));
    if (!paths.has_value()) continue;  // A damaged cache tells nothing.
    for (const std::string& path : *paths) {
      if (const auto found = root.Find(path)) folders.push_back(FolderOf(found->path));
    }
  }
  return folders;
}

// The version that the name of a landmark's file ends in, or nothing.
std::string_view VersionIn(std::string_view file, std::string_view landmark) {
  if (!file.starts_with(landmark)) return {};
  const std::string_view version = file.substr(landmark.size());
  return IsDriverVersion(version) ? version : std::string_view();
}

// What "libcuda.so.1" leads to counts first: an upgrade may have left files of the old version beside it.
std::string FindVersion(const RootDir& root, const Folders& folders) {
  for (const std::string& folder : folders) {
    std::vector<std::string> candidates;
    for (const std::string_view landmark : kLandmarks) {
      const auto current = root.Find(Inside(folder, Format("{}1", landmark)));
      if (current) candidates.push_back(FileName(current->path));
    }
    std::ranges::reverse_copy(root.List(folder), std::back_inserter(candidates));
    for (const std::string& candidate : candidates) {
      for (const std::string_view landmark : kLandmarks) {
        if (const auto version = VersionIn(candidate, landmark); !version.empty()) return std::string(version);
      }
    }
  }
  return {};
}

bool IsFile(const std::optional<RootDir::Found>& found) { return found && S_ISREG(found->status.st_mode); }

// The folders that hold lib*.so.<version> in truth, behind all links.
Folders FoldersWith(const RootDir& root, const Folders& folders, std::string_view version) {
  std::set<std::string> holding;
  const std::string ending = Format(".so.{}", version);
  for (const std::string& folder : folders) {
    for (const std::string& name : root.List(folder)) {
      if (!name.starts_with("lib") || !name.ends_with(ending)) continue;
      if (const auto found = root.Find(Inside(folder, name)); IsFile(found)) holding.insert(FolderOf(found->path));
    }
  }
  return {holding.begin(), holding.end()};
}

std::unexpected<Error> NoLibraries(std::string_view root, std::string_view wanted, std::string_view present) {
  if (wanted.empty()) {
    return BadDevice("DriverFilesMissing", Format("there are no NVIDIA driver libraries (libcuda.so.*) below {}", root),
                     "install the NVIDIA driver, or name its root with --nvidia-driver-root");
  }
  const std::string instead = present.empty() ? "" : Format("; the libraries there are of version {}", present);
  return BadDevice("DriverFilesMissing",
                   Format("there are no libraries of NVIDIA driver {} below {}{}", wanted, root, instead),
                   present.empty() ? "name the driver's root with --nvidia-driver-root"
                                   : "finish the driver's upgrade: unload the old kernel modules or reboot the node");
}

Result<void> FindFolders(const RootDir& root, std::string_view name, DriverFiles& files) {
  const std::string wanted = files.version;
  std::string present;
  for (const Folders& group : {UsualFolders(), CacheFolders(root, files), OtherFolders()}) {
    const Folders folders = SearchFolders(root, group, files);
    const std::string version = wanted.empty() ? FindVersion(root, folders) : wanted;
    files.directories = version.empty() ? Folders{} : FoldersWith(root, folders, version);
    if (!files.directories.empty()) {
      files.version = version;
      SearchFolders(root, files.directories, files);  // Links may have led to other folders than those.
      return {};
    }
    if (present.empty()) present = FindVersion(root, folders);
  }
  return NoLibraries(name, wanted, present);
}

// ---- Which files of these folders.

// Adds the folder's files that `wants` takes by name. Whether there was one.
bool AddFrom(const RootDir& root, std::string_view folder, const auto& wants, std::set<std::string>& libraries) {
  bool any = false;
  for (const std::string& name : root.List(folder)) {
    if (!wants(name)) continue;
    const auto found = root.Find(Inside(folder, name));
    if (!IsFile(found)) continue;
    libraries.insert(found->path);
    any = true;
  }
  return any;
}

// Window system libraries with version numbers of their own. They may be in the system's folder when the driver has one
// to itself.
void AddPlatforms(const RootDir& root, DriverFiles& files, std::set<std::string>& libraries) {
  Folders folders = files.directories;
  std::ranges::copy(SearchFolders(root, UsualFolders(), files), std::back_inserter(folders));
  for (const std::string_view name :
       {"libnvidia-egl-gbm.so.", "libnvidia-egl-wayland.so.", "libnvidia-egl-wayland2.so.", "libnvidia-egl-xcb.so.",
        "libnvidia-egl-xlib.so."}) {
    const auto wants = [name](std::string_view file) {
      return file.starts_with(name) && IsDriverVersion(file.substr(name.size()));
    };
    for (const std::string& folder : folders) {
      if (!AddFrom(root, folder, wants, libraries)) continue;
      if (std::ranges::find(files.directories, folder) == files.directories.end()) files.directories.push_back(folder);
      break;
    }
  }
}

Folders XorgFolders(const Folders& directories) {
  Folders folders, modules{"/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64"};
  for (const std::string& directory : directories) {
    folders.push_back(Inside(directory, "nvidia/xorg"));
    modules.push_back(Inside(directory, "xorg"));
  }
  for (const std::string& place : modules) {
    for (const std::string_view folder : {"drivers", "extensions"}) {
      folders.push_back(Format("{}/modules/{}", place, folder));
      folders.push_back(Format("{}/modules/updates/{}", place, folder));
    }
  }
  return folders;
}

void AddXorg(const RootDir& root, DriverFiles& files, std::set<std::string>& libraries) {
  const Folders folders = SearchFolders(root, XorgFolders(files.directories), files);
  const std::string extension = "libglxserver_nvidia.so." + files.version;
  for (const std::string_view wanted : {std::string_view("nvidia_drv.so"), std::string_view(extension)}) {
    const auto wants = [wanted](std::string_view name) { return name == wanted; };
    for (const std::string& folder : folders) {
      if (AddFrom(root, folder, wants, libraries)) break;
    }
  }
}

// ---- Links beside them.

// Links that containers get whether the host has them or not: folder of the library, name → target.
struct FixedLink {
  std::string_view library;       // Up to ".so".
  std::string_view name, target;  // Target empty: the library's file.
};
constexpr auto kFixedLinks = std::to_array<FixedLink>({
    {"libcuda", "libcuda.so", "libcuda.so.1"},
    {"libnvidia-opticalflow", "libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1"},
    {"libGLX_nvidia", "libGLX_indirect.so.0", ""},
    {"libnvidia-allocator", "gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so.1"},
    {"libnvidia-vulkan-producer", "libnvidia-vulkan-producer.so", ""},
    {"libglxserver_nvidia", "libglxserver_nvidia.so", ""},
});

bool LinksTo(const RootDir& root, const std::string& path, std::string_view library) {
  if (!root.ReadLink(path)) return false;
  const auto found = root.Find(path);
  return found && found->path == library;
}

void AddLinks(const RootDir& root, const std::string& library, std::map<std::string, std::string>& links) {
  const std::string folder = FolderOf(library), file = FileName(library);
  const std::string stem = file.substr(0, file.find(".so"));
  for (const FixedLink& link : kFixedLinks) {
    if (link.library != stem) continue;
    links.emplace(Inside(folder, link.name), link.target.empty() ? file : std::string(link.target));
  }
  const UniqueFd content = root.OpenFile(library);
  const auto soname = content ? ElfSoname(content.get()) : std::nullopt;
  if (!soname || *soname == file) return;
  const std::string by_soname = Inside(folder, *soname), plain = Inside(folder, stem + ".so");
  if (LinksTo(root, by_soname, library)) links.emplace(by_soname, file);
  if (plain != by_soname && LinksTo(root, plain, library)) links.emplace(plain, *soname);
}

}  // namespace

bool IsDriverVersion(std::string_view text) {
  if (text.empty() || text.find('.') == std::string_view::npos || text.size() > 32) return false;
  return std::ranges::all_of(Split(text, '.'), [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

std::vector<std::string> SearchFolders(const RootDir& root, std::span<const std::string> folders, DriverFiles& files) {
  std::vector<std::string> existing;
  for (const std::string& folder : folders) {
    const auto found = root.Find(folder);
    const bool is_folder = found && S_ISDIR(found->status.st_mode);
    const std::string& watched = is_folder ? found->path : folder;
    if (std::ranges::find(files.watched, watched) == files.watched.end()) files.watched.push_back(watched);
    if (is_folder && std::ranges::find(existing, found->path) == existing.end()) existing.push_back(found->path);
  }
  return existing;
}

Result<void> FindLibraries(const RootDir& root, std::string_view name, DriverFiles& files) {
  TESSERA_TRY(FindFolders(root, name, files));
  std::set<std::string> libraries;
  const std::string ending = Format(".so.{}", files.version);
  const auto wants = [&](std::string_view file) {
    return file.ends_with(ending) || file.starts_with("libnvidia-nvvm70.so.");
  };
  for (const std::string& directory : files.directories) {
    AddFrom(root, directory, wants, libraries);
    for (const std::string& folder : SearchFolders(root, Folders{Inside(directory, "vdpau")}, files)) {
      AddFrom(root, folder, wants, libraries);
    }
  }
  AddPlatforms(root, files, libraries);
  AddXorg(root, files, libraries);
  std::ranges::sort(files.directories);
  files.libraries.assign(libraries.begin(), libraries.end());

  std::map<std::string, std::string> links;
  for (const std::string& library : files.libraries) AddLinks(root, library, links);
  for (const auto& [path, target] : links) files.links.push_back({target, path});
  return {};
}

}  // namespace tessera::cdi
