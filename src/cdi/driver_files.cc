#include "cdi/driver_files.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "cdi/driver_libraries.h"
#include "cdi/nodes.h"
#include "cdi/root_dir.h"

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;

constexpr auto kPrograms = std::to_array<std::string_view>({
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
    "nvidia-xconfig",
});

// Not /tmp/nvidia-mps, which the container toolkit gives away too: an MPS daemon belongs to one claim.
constexpr auto kSockets =
    std::to_array<std::string_view>({"nvidia-persistenced/socket", "nvidia-fabricmanager/socket"});

constexpr auto kControlNodes = std::to_array<std::string_view>(
    {"/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"});

// Files that loaders (EGL, Vulkan, OpenCL, X.Org) look for at one place, wherever the host keeps them.
struct Config {
  std::string_view name;
  std::string_view place;  // The folder in the container.
};
constexpr auto kConfigs = std::to_array<Config>({
    {"glvnd/egl_vendor.d/10_nvidia.json", "/usr/share"},
    {"egl/egl_external_platform.d/09_nvidia_wayland2.json", "/usr/share"},
    {"egl/egl_external_platform.d/10_nvidia_wayland.json", "/usr/share"},
    {"egl/egl_external_platform.d/15_nvidia_gbm.json", "/usr/share"},
    {"egl/egl_external_platform.d/20_nvidia_xcb.json", "/usr/share"},
    {"egl/egl_external_platform.d/20_nvidia_xlib.json", "/usr/share"},
    {"nvidia/nvoptix.bin", "/usr/share"},
    {"X11/xorg.conf.d/10-nvidia.conf", "/usr/share"},
    {"X11/xorg.conf.d/nvidia-drm-outputclass.conf", "/usr/share"},
    {"OpenCL/vendors/nvidia.icd", "/etc"},
    {"vulkan/icd.d/nvidia_icd.json", "/etc"},
    {"vulkan/icd.d/nvidia_layers.json", "/etc"},
    {"vulkan/implicit_layer.d/nvidia_layers.json", "/etc"},
});

void Note(std::string path, const std::string& real, std::vector<std::string>& list, DriverFiles& files) {
  if (std::ranges::find(list, path) != list.end()) return;
  if (path != real) files.found_at[path] = real;
  list.push_back(std::move(path));
}

std::string ParentOf(const std::string& path) { return fs::path(path).parent_path().string(); }

void FindPrograms(const RootDir& root, DriverFiles& files) {
  const std::vector<std::string> usual{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
  const std::vector<std::string> folders = SearchFolders(root, usual, files);
  for (const std::string_view program : kPrograms) {
    for (const std::string& folder : folders) {
      std::string path = Format("{}/{}", folder, program);
      const auto found = root.Find(path);
      if (!found || !S_ISREG(found->status.st_mode) || (found->status.st_mode & 0111) == 0) continue;
      Note(std::move(path), found->path, files.binaries, files);
      break;
    }
  }
}

// Where the kernel looks for firmware, in its order.
std::vector<std::string> FirmwareFolders(const Roots& roots) {
  std::vector<std::string> folders;
  const auto text = ReadFile(roots.sysfs / "module/firmware_class/parameters/path", 4096);
  fs::path custom = text.has_value() ? fs::path(Trim(*text)).lexically_normal() : fs::path();
  if (!custom.has_filename()) custom = custom.parent_path();  // "/opt/fw/"
  if (custom.is_absolute()) {
    // A driver container sets the path as the host sees it: with its own root in front.
    const fs::path inside = custom.lexically_relative(roots.driver_host);
    if (!inside.empty() && *inside.begin() != "..") folders.push_back((fs::path("/") / inside).string());
    folders.push_back(custom.string());
  }
  struct utsname kernel{};
  const std::string release = ::uname(&kernel) == 0 ? kernel.release : "";
  for (const std::string_view top : {"/lib/firmware/updates", "/lib/firmware"}) {
    if (IsPlainName(release)) folders.push_back(Format("{}/{}", top, release));
    folders.emplace_back(top);
  }
  return folders;
}

void FindFirmware(const Roots& roots, const RootDir& root, DriverFiles& files) {
  for (const std::string& top : FirmwareFolders(roots)) {
    // The container sees it where the kernel would look: not behind the link of a merged /usr.
    const std::string folder = Format("{}/nvidia/{}", top, files.version);
    SearchFolders(root, std::vector{folder}, files);
    for (const std::string& name : root.List(folder)) {
      if (!name.starts_with("gsp") || !name.ends_with(".bin")) continue;
      const auto found = root.Find(Format("{}/{}", folder, name));
      if (found && S_ISREG(found->status.st_mode))
        Note(Format("{}/{}", folder, name), found->path, files.firmware, files);
    }
    if (!files.firmware.empty()) return;
  }
}

void FindSockets(const RootDir& root, DriverFiles& files) {
  for (const std::string_view socket : kSockets) {
    for (const std::string_view top : {"/run", "/var/run"}) {
      const std::string path = Format("{}/{}", top, socket);
      SearchFolders(root, std::vector{ParentOf(path)}, files);
      const auto found = root.Find(path);
      if (!found || !S_ISSOCK(found->status.st_mode)) continue;
      Note(found->path, found->path, files.sockets, files);
      break;
    }
  }
}

bool FindConfig(const RootDir& root, std::string_view name, std::string_view place, DriverFiles& files) {
  for (const std::string_view top : {"/etc", "/usr/local/share", "/usr/share", ""}) {
    if (top.empty() && !name.starts_with("vulkan/")) continue;  // Bundles have Vulkan's at their top.
    const std::string path = Format("{}/{}", top, name);
    SearchFolders(root, std::vector{ParentOf(path)}, files);
    const auto found = root.Find(path);
    if (!found || !S_ISREG(found->status.st_mode)) continue;
    Note(Format("{}/{}", place, name), found->path, files.configs, files);
    return true;
  }
  return false;
}

void FindConfigs(const RootDir& root, DriverFiles& files) {
  for (const Config& config : kConfigs) {
    if (FindConfig(root, config.name, config.place, files)) continue;
    if (config.name != "vulkan/icd.d/nvidia_icd.json") continue;
    FindConfig(root, Format("vulkan/icd.d/nvidia_icd.{}.json", kArchitecture), config.place, files);
  }
}

void FindControlNodes(const Roots& roots, DriverFiles& files) {
  const auto dev = RootDir::Open(roots.dev);
  if (!dev.has_value()) return;
  for (const std::string_view node : kControlNodes) {
    if (dev->Find(node)) files.control_nodes.emplace_back(node);
  }
}

// FNV-1a: nobody gains by a collision here.
class Hash {
 public:
  void Add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    value_ = (value_ ^ 0xFF) * 0x100000001B3ULL;
  }
  void Add(const std::string& path, const std::optional<struct stat>& status) {
    Add(path);
    if (!status) return Add("absent");
    Add(Format("{} {} {} {}.{:09}", status->st_ino, status->st_rdev, S_ISDIR(status->st_mode) ? 0 : status->st_size,
               status->st_mtim.tv_sec, status->st_mtim.tv_nsec));
  }
  std::string Text() const { return Format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

}  // namespace

fs::path DevRoot(const fs::path& driver_root) {
  std::error_code ignored;  // What cannot be looked at is no dev root.
  return fs::is_directory(driver_root / "dev", ignored) ? driver_root : fs::path("/");
}

Result<DriverFiles> FindDriverFiles(const Roots& roots, std::string version) {
  if (!version.empty() && !IsDriverVersion(version)) {
    return BadDevice("BadDriverVersion", Format("the driver calls its version {}", Quote(Clip(version, 60))),
                     "install a driver whose version has the form 570.158.01");
  }
  const auto root = RootDir::Open(roots.driver);
  if (!root.has_value()) {
    return BadDevice("DriverFilesMissing", "the driver root cannot be searched: " + root.error().message(),
                     "name the driver's root with --nvidia-driver-root");
  }
  DriverFiles files;
  files.version = std::move(version);
  TESSERA_TRY(FindLibraries(*root, roots.driver.string(), files));
  FindPrograms(*root, files);
  FindFirmware(roots, *root, files);
  FindSockets(*root, files);
  FindConfigs(*root, files);
  FindControlNodes(roots, files);
  for (auto* list : {&files.binaries, &files.firmware, &files.configs, &files.sockets, &files.watched}) {
    std::ranges::sort(*list);
  }
  files.fingerprint = Fingerprint(roots, files);
  return files;
}

std::string Fingerprint(const Roots& roots, const DriverFiles& files) {
  Hash hash;
  hash.Add(files.version);
  if (const auto root = RootDir::Open(roots.driver); root.has_value()) {
    for (const std::string& path : files.watched) hash.Add(path, root->Peek(path));
    for (const auto* list : {&files.libraries, &files.binaries, &files.firmware, &files.configs, &files.sockets}) {
      for (const std::string& path : *list) hash.Add(path, root->Peek(RealPath(files, path)));
    }
  }
  if (const auto dev = RootDir::Open(roots.dev); dev.has_value()) {
    for (const std::string_view node : kControlNodes) hash.Add(std::string(node), dev->Peek(node));
  }
  return hash.Text();
}

}  // namespace tessera::cdi
