#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "cmd/tessera-cdi-hook/hooks.h"
#include "cmd/tessera-cdi-hook/state.h"

namespace tessera::hook {
namespace {

constexpr const char* kParams = "/proc/driver/nvidia/params";
constexpr std::size_t kMaxParams = std::size_t{64} << 10;
constexpr unsigned long kMountFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

std::unexpected<Error> Failed(std::string_view doing) { return FromErrno(errno, "ParamsFailed", doing); }

// The driver's parameters with the permission taken back, or nothing when it was not given.
std::optional<std::string> WithoutModification(std::string text) {
  constexpr std::string_view kAllowed = "ModifyDeviceFiles: 1\n";
  const std::size_t at = text.starts_with(kAllowed) ? 0 : text.find(Format("\n{}", kAllowed));
  if (at == std::string::npos) return std::nullopt;
  text[text.find('1', at)] = '0';
  return text;
}

// A tmpfs in the container for as long as it takes to bind a file of it somewhere else. It comes and goes with its
// folder, so that the container sees neither.
class Scratch {
 public:
  explicit Scratch(const ContainerRoot& root) : root_(root) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (mount_) ::umount2(SelfFds::Path(mount_.get()).c_str(), MNT_DETACH);
    if (!name_.empty()) ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
  }

  // A file with `content` on a read-only mount.
  Result<UniqueFd> Put(std::string_view content) {
    TESSERA_TRY(Mount(content.size()));
    UniqueFd file{::openat(mount_.get(), "params", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444)};
    if (!file) return Failed("writing the parameters");
    TESSERA_TRY(WriteAll(file.get(), content));
    file.Reset();  // While it is open for writing, the mount cannot become read-only.
    UniqueFd handle{::openat(mount_.get(), "params", O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!handle) return Failed("opening the parameters");
    // A bind mount takes these flags over, so the file is never writable where the container sees it.
    if (::mount(nullptr, SelfFds::Path(mount_.get()).c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kMountFlags,
                nullptr) != 0) {
      return Failed("making the parameters read-only");
    }
    return handle;
  }

 private:
  // /dev is a tmpfs in every container, and writable where a read-only root is that already (crun).
  Result<void> MakeFolder() {
    TESSERA_ASSIGN(const std::string random, RandomName());
    const std::string name = ".tessera-" + random;
    for (const char* directory : {"/run", "/dev"}) {
      auto parent = root_.MakeDirectory(directory);
      if (!parent.has_value()) continue;
      if (::mkdirat(parent->get(), name.c_str(), 0700) != 0) continue;
      parent_ = std::move(*parent);
      name_ = name;
      return {};
    }
    return BadConfig("ParamsFailed", "no folder can be made in the container's /run or /dev");
  }

  Result<void> Mount(std::size_t size) {
    TESSERA_TRY(MakeFolder());
    const UniqueFd folder = OpenFolder();
    if (!folder) return Failed("opening a folder in the container");
    const std::string options = Format("size={},nr_inodes=4,mode=0700", std::max(size, std::size_t{4096}));
    if (::mount("tmpfs", SelfFds::Path(folder.get()).c_str(), "tmpfs", kMountFlags, options.c_str()) != 0) {
      return Failed("mounting a tmpfs in the container");
    }
    UniqueFd mounted = OpenFolder();  // The name leads to what is mounted on it now, the old descriptor does not.
    struct stat below{}, above{};
    if (!mounted || ::fstat(folder.get(), &below) != 0 || ::fstat(mounted.get(), &above) != 0) {
      return Failed("opening a folder in the container");
    }
    if (below.st_dev == above.st_dev) return BadConfig("ParamsFailed", "a folder in the container changed meanwhile");
    mount_ = std::move(mounted);
    if (::mount(nullptr, SelfFds::Path(mount_.get()).c_str(), nullptr, MS_PRIVATE, nullptr) != 0) {
      return Failed("making a mount private");
    }
    return {};
  }

  UniqueFd OpenFolder() const {
    return UniqueFd{::openat(parent_.get(), name_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  }

  const ContainerRoot& root_;
  UniqueFd parent_;
  std::string name_;
  UniqueFd mount_;
};

}  // namespace

Result<void> DisableDeviceNodeModification(Arguments arguments) {
  std::string host_params = kParams;
  TESSERA_TRY(ParseFlags(arguments, {{.name = "--params-path", .last = &host_params}}));
  if (::access(host_params.c_str(), F_OK) != 0 && errno == ENOENT) return {};  // No driver, nothing to hide.
  TESSERA_ASSIGN(std::string text, ReadFile(host_params, kMaxParams));
  const std::optional<std::string> wanted = WithoutModification(std::move(text));
  if (!wanted) return {};

  TESSERA_ASSIGN(const ContainerRoot root, RootFromState());
  TESSERA_ASSIGN(const std::optional<std::string> found, root.ReadFile(kParams, kMaxParams));
  if (!found) {
    return BadConfig("ParamsFailed", Format("the container has no {}", kParams), "mount a procfs on its /proc");
  }
  if (*found == *wanted) return {};
  const UniqueFd target = root.Resolve(kParams, O_NOFOLLOW);
  struct stat status{};
  if (!target || ::fstat(target.get(), &status) != 0) return Failed("opening the container's parameters");
  if (!S_ISREG(status.st_mode)) return BadConfig("ParamsFailed", Format("the container's {} is no file", kParams));

  Scratch scratch(root);
  TESSERA_ASSIGN(const UniqueFd file, scratch.Put(*wanted));
  if (::mount(SelfFds::Path(file.get()).c_str(), SelfFds::Path(target.get()).c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return Failed("mounting the parameters");
  }
  return {};
}

}  // namespace tessera::hook
