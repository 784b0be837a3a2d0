// The nodes that nvidia-modprobe, udev and the driver make below /dev.
#include <algorithm>

#include "base/text.h"
#include "sim/tree_parts.h"

namespace tessera::sim {
namespace {

constexpr unsigned kModesetMinor = 254, kControlMinor = 255, kSwitchControlMinor = 255;

void AddCapabilities(Folder& dev, const Machine& machine) {
  const auto add = [&](unsigned minor, mode_t mode) {
    Add(dev, Format("nvidia-caps/nvidia-cap{}", minor), CharDevice{machine.majors.caps, minor, mode});
  };
  add(1, 0400);  // mig/config
  add(2, 0444);  // mig/monitor
  for (const Gpu& gpu : machine.gpus) {
    if (!Held(machine, gpu)) continue;
    for (const GpuInstance& instance : gpu.instances) {
      add(CapMinor(gpu.minor, instance.id), 0444);
      for (const ComputeInstance& compute : instance.compute) {
        add(CapMinor(gpu.minor, instance.id, compute.id), 0444);
      }
    }
  }
}

void AddSwitches(Folder& dev, const Machine& machine) {
  const bool has_nvlink = std::ranges::any_of(
      machine.gpus, [&](const Gpu& gpu) { return Held(machine, gpu) && ModelOf(machine, gpu).nvlink.has_value(); });
  if (has_nvlink || !machine.switches.empty()) Add(dev, "nvidia-nvlink", CharDevice{machine.majors.nvlink, 0, 0666});
  if (machine.switches.empty()) return;
  for (unsigned i = 0; i < machine.switches.size(); ++i) {
    Add(dev, Format("nvidia-nvswitch{}", i), CharDevice{machine.majors.nvswitch, i, 0666});
  }
  Add(dev, "nvidia-nvswitchctl", CharDevice{machine.majors.nvswitch, kSwitchControlMinor, 0666});
}

}  // namespace

void AddDev(Folder& top, const Machine& machine) {
  Folder& dev = SubFolder(top, "dev");
  dev.owned = {"nvidia"};
  if (!machine.driver_loaded) return;

  const Majors& majors = machine.majors;
  for (const Gpu& gpu : machine.gpus) {
    if (Held(machine, gpu)) Add(dev, Format("nvidia{}", gpu.minor), CharDevice{majors.nvidia, gpu.minor, 0666});
  }
  Add(dev, "nvidiactl", CharDevice{majors.nvidia, kControlMinor, 0666});
  Add(dev, "nvidia-modeset", CharDevice{majors.nvidia, kModesetMinor, 0666});
  Add(dev, "nvidia-uvm", CharDevice{majors.uvm, 0, 0666});
  Add(dev, "nvidia-uvm-tools", CharDevice{majors.uvm, 1, 0666});
  SubFolder(dev, "nvidia-caps-imex-channels").shared = true;  // Filled by whoever wants a channel, never by the driver.
  AddCapabilities(dev, machine);
  AddSwitches(dev, machine);
}

}  // namespace tessera::sim
