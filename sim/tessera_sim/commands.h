// sim/tessera_sim/commands.h: what tessera-sim can do, one function a command.
//
// Each returns the text to print. Those with a `root` change or read the simulated machine below that driver root; the
// library of every running program sees the change at once. A GPU is named by its minor, its UUID or its PCI address.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sim/machine.h"
#include "sim/store.h"

namespace tessera::sim::command {

using Output = Result<std::string>;
using Path = std::filesystem::path;

// ---- create.cc: machines.

// Makes a driver root from a profile. Refuses "/" always, and without `force` a directory with other things in it. An
// older simulator root is emptied first when all of it is ours; never while something is mounted in it.
Output Create(const Path& root, const std::string& profile, bool force, bool quiet = false);
Output Profiles();
Output Models();
Output NewProfileText(const std::string& model, unsigned count);
// The machine as YAML; the models' facts only when asked for.
Output Show(const Path& root, bool models);

// ---- commands.cc: GPUs and the driver.

struct XidOptions {
  std::string gpu;
  std::uint64_t code = 0;
  std::optional<unsigned> gpu_instance, compute_instance;
};
Output Xid(const Path& root, const XidOptions& options);
Output Ecc(const Path& root, const std::string& gpu, std::uint64_t corrected, std::uint64_t uncorrected);
Output Temperature(const Path& root, const std::string& gpu, unsigned celsius);
// Off the bus and back: the PCI device stays, but answers nothing.
Output Lose(const Path& root, const std::string& gpu);
Output Find(const Path& root, const std::string& gpu);
// Out of the machine and back in.
Output Unplug(const Path& root, const std::string& gpu);
Output Plug(const Path& root, const std::string& gpu);
// Refused while it has processes. Pending MIG mode takes effect; instances, volatile counters, NVLink's errors, a pending
// row remap, slow clocks and a slow PCIe link, the recovery advice and the loss of the GPU are gone.
Output Reset(const Path& root, const std::string& gpu);
Output UnloadDriver(const Path& root);
// `version`: of the kernel module from now on; the library keeps its own, so that the two may disagree.
Output ReloadDriver(const Path& root, const std::string& version);
// `link` is a number or "all".
Output SetNvLink(const Path& root, const std::string& gpu, const std::string& link, bool up);
// "remapped.pending=true", "links[3].crcFlitErrors=7": fields of Gpu as state.json spells them, values in YAML.
Output Set(const Path& root, const std::string& gpu, const std::vector<std::string>& assignments);

// ---- signal_commands.cc: what a sick GPU shows. Numbers of errors, rows and pages are added to what there is.

struct RemapOptions {
  unsigned corrected = 0, uncorrected = 0;  // Rows; they are reported with Xid 63 …
  bool pending = false, failed = false;     // … and a failure with Xid 64.
};
Output Remap(const Path& root, const std::string& gpu, const RemapOptions& options);
struct RetireOptions {
  unsigned single_bit = 0, double_bit = 0;
  bool pending = false;
};
Output Retire(const Path& root, const std::string& gpu, const RetireOptions& options);
struct LinkErrorOptions {
  std::uint64_t replay = 0, recovery = 0, crc = 0;
};
Output LinkErrors(const Path& root, const std::string& gpu, unsigned link, const LinkErrorOptions& options);
// `why`: none, thermal, software-thermal, power-brake or power-cap.
Output Slowdown(const Path& root, const std::string& gpu, const std::string& why);
Output Load(const Path& root, const std::string& gpu, unsigned percent);
// 0: as good as it can be.
Output Pcie(const Path& root, const std::string& gpu, std::optional<unsigned> generation,
            std::optional<unsigned> width);
struct FabricOptions {
  std::optional<unsigned> state, status, health_mask;
};
Output SetFabric(const Path& root, const std::string& gpu, const FabricOptions& options);
// The driver's recovery action: none, reset, reboot, drain-p2p or drain-and-reset. Reported, with Xid 154.
Output Advise(const Path& root, const std::string& gpu, const std::string& action);
// Every call about the GPU takes this long, until `fault clear`.
Output Hang(const Path& root, const std::string& gpu, double seconds);

// ---- mig_commands.cc

Output EnableMig(const Path& root, const std::string& gpu, bool only_pending);
Output DisableMig(const Path& root, const std::string& gpu, bool only_pending);
// `instance` as in a profile file (profile_format.h): "2g.20gb", "9", "3g.40gb@4/2c+1c".
Output CreateMig(const Path& root, const std::string& gpu, const std::string& instance, std::optional<unsigned> start);
// One GPU instance with its compute instances, or without `gpu_instance` all.
Output DestroyMig(const Path& root, const std::string& gpu, std::optional<unsigned> gpu_instance);
// All GPUs when `gpu` is empty.
Output ListMig(const Path& root, const std::string& gpu);

// ---- faults.cc

struct FaultOptions {
  std::string function;
  std::string gpu = {};   // Empty: all.
  std::string code = {};  // A number, or "GPU_IS_LOST".
  std::int64_t count = -1;
  double hang_seconds = 0;
  bool crash = false, garbage = false;
};
Output AddFault(const Path& root, const FaultOptions& options);
Output ListFaults(const Path& root);
Output ClearFaults(const Path& root, const std::string& function);

// ---- Shared by them.

bool IsSimulatorRoot(const Path& root);
Result<std::unique_ptr<Store>> OpenStore(const Path& root);
Result<Gpu*> FindGpu(Machine& machine, std::string_view name);
// Changes one GPU under the store's lock. Gives back the GPU as it is now.
Result<Gpu> ChangeGpu(Store& store, std::string_view name, const std::function<Result<void>(Machine&, Gpu&)>& change);
// Sends an event of the GPU as a whole.
Result<void> Emit(Store& store, const Gpu& gpu, std::uint64_t type, std::uint64_t data = 0);
// "GPU 3 (0000:4e:00.0)", for messages.
std::string Label(const Gpu& gpu);

}  // namespace tessera::sim::command
