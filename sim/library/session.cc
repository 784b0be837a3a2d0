// Init and shutdown: where the state is, who may see which GPU.
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "sim/library/events.h"
#include "sim/library/library.h"
#include "sim/tree.h"

namespace tessera::sim::library {
namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path root, state;
};

// The driver root that a state directory belongs to: what is left without "var/lib/tessera-sim".
fs::path RootOf(const fs::path& state) {
  const std::string text = (state.has_filename() ? state : state.parent_path()).string();
  const std::string suffix = "/" + std::string(kStateDir);
  if (!text.ends_with(suffix)) return "/";
  const std::string root = text.substr(0, text.size() - suffix.size());
  return root.empty() ? "/" : root;
}

// Where this shared object lies, symlinks resolved; empty when nobody can tell.
fs::path OwnPath() {
  static const char inside = 0;
  Dl_info info{};
  if (::dladdr(&inside, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  return fs::canonical(info.dli_fname, failed);
}

// $TESSERA_SIM_STATE; else below the nearest parent of this library that has a state; else this machine's own root,
// which is where a container finds it.
Place FindState() {
  if (const char* given = std::getenv("TESSERA_SIM_STATE"); given != nullptr && *given != '\0') {
    return {.root = RootOf(given), .state = given};
  }
  const fs::path own = OwnPath();
  for (fs::path dir = own.parent_path(); dir.has_relative_path(); dir = dir.parent_path()) {
    std::error_code failed;
    if (fs::is_directory(dir / kStateDir, failed)) return {.root = dir, .state = dir / kStateDir};
  }
  return {.root = "/", .state = fs::path("/") / kStateDir};
}

// Without a kernel driver behind it a device node opens with ENXIO: it is there, and the device cgroup lets us pass.
bool CanOpen(const fs::path& node, int mode) {
  const UniqueFd file{::open(node.c_str(), mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  return file || (errno != ENOENT && errno != ENOTDIR && errno != EPERM && errno != EACCES);
}

// Safe to call from any thread.
class Session {
 public:
  // Holds no lock while it looks around: a fault may make it hang.
  Return Init(std::string_view function, unsigned flags) {
    auto store = this->store();
    if (!store) {
      const Place place = FindState();
      auto opened = Store::Open(place.root, place.state);
      if (!opened) return opened.error().code() == "StateNotFound" ? kDriverNotLoaded : kUnknown;
      store = std::move(*opened);
    }
    if (const Return wrong = Check(*store, function, flags); wrong != kSuccess) return wrong;
    const std::scoped_lock hold(mutex_);
    if (!store_) store_ = std::move(store);
    ++users_;
    return kSuccess;
  }

  Return Shutdown() {
    const std::scoped_lock hold(mutex_);
    if (users_ == 0) return kUninitialized;
    if (--users_ == 0) {
      store_.reset();
      reachable_.clear();
      FreeEventSets();
    }
    return kSuccess;
  }

  std::shared_ptr<Store> store() {
    const std::scoped_lock hold(mutex_);
    return store_;
  }

  // Once reachable, a GPU stays so until shutdown: its node may vanish while it is in use.
  bool Reaches(const fs::path& root, unsigned minor) {
    {
      const std::scoped_lock hold(mutex_);
      if (reachable_.contains(minor)) return true;
    }
    if (!CanOpen(root / Format("dev/nvidia{}", minor), O_RDWR)) return false;
    const std::scoped_lock hold(mutex_);
    reachable_.insert(minor);
    return true;
  }

 private:
  static Return Check(Store& store, std::string_view function, unsigned flags) {
    const auto machine = store.Read();
    if (!machine) return kUnknown;
    const FaultEffect fault = ApplyFault(store, **machine, function, std::nullopt);
    if (fault.code != kSuccess) return fault.code;
    if (!(*machine)->driver_loaded) return kDriverNotLoaded;
    if ((*machine)->kernel_version != (*machine)->driver_version) return kLibRmVersionMismatch;
    const bool any = std::ranges::any_of((*machine)->gpus, [&](const Gpu& gpu) {
      return gpu.present && !gpu.vfio && CanOpen(store.root() / Format("dev/nvidia{}", gpu.minor), O_RDWR);
    });
    return any || (flags & kInitNoGpus) != 0 ? kSuccess : kGpuNotFound;
  }

  std::mutex mutex_;  // Guards all below.
  unsigned users_ = 0;
  std::shared_ptr<Store> store_;
  std::set<unsigned> reachable_;  // Minors.
};

Session& TheSession() {
  static Session session;
  return session;
}

}  // namespace

std::shared_ptr<Store> CurrentStore() { return TheSession().store(); }

std::vector<const Gpu*> VisibleGpus(const Machine& machine) {
  std::vector<const Gpu*> gpus;
  const auto store = CurrentStore();
  if (!store) return gpus;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.present && !gpu.vfio && TheSession().Reaches(store->root(), gpu.minor)) gpus.push_back(&gpu);
  }
  return gpus;
}

bool IsVisible(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute) {
  const auto store = CurrentStore();
  if (!store) return false;
  const fs::path caps = store->root() / "dev/nvidia-caps";
  return CanOpen(caps / Format("nvidia-cap{}", CapMinor(gpu.minor, instance.id)), O_RDONLY) &&
         CanOpen(caps / Format("nvidia-cap{}", CapMinor(gpu.minor, instance.id, compute.id)), O_RDONLY);
}

NVML(nvmlInit) { return TheSession().Init(__func__, 0); }
NVML(nvmlInit_v2) { return TheSession().Init(__func__, 0); }
NVML(nvmlInitWithFlags, unsigned flags) { return TheSession().Init(__func__, flags); }

NVML(nvmlShutdown) {
  const Frame frame = Enter(__func__, At(kMachine));
  const bool works = frame.status == kSuccess || frame.status == kDriverNotLoaded;
  return works ? TheSession().Shutdown() : frame.status;
}

}  // namespace tessera::sim::library
