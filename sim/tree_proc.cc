// What the kernel modules show below /proc.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "sim/tree_parts.h"

namespace tessera::sim {
namespace {

// The modules reserve capability minors for this many of each.
constexpr unsigned kMaxGpus = 32, kMaxGpuInstances = 15, kMaxComputeInstances = 8;
constexpr unsigned kImexManagementMinor = CapMinor(kMaxGpus, 0);
static_assert(kImexManagementMinor == 4323 && CapMinor(6, 11, 7) == 920, "as real drivers count");

std::string VersionText(const Machine& machine) {
  const std::string& version = ModuleVersion(machine);
  const std::string flavour = machine.open_kernel_module
                                  ? Format("NVIDIA UNIX Open Kernel Module for {}  {}  Release Build  (tessera-sim)",
                                           kArchitectureName, version)
                                  : Format("NVIDIA UNIX {} Kernel Module  {}", kArchitectureName, version);
  return Format("NVRM version: {}  Thu Jan  1 00:00:00 UTC 1970\nGCC version:  gcc version 12.2.0 (tessera-sim)\n",
                flavour);
}

constexpr std::string_view kParams =
    "ResmanDebugLevel: 4294967295\n"
    "ModifyDeviceFiles: 1\n"
    "DeviceFileUID: 0\n"
    "DeviceFileGID: 0\n"
    "DeviceFileMode: 438\n"
    "EnableMSI: 1\n"
    "NvLinkDisable: 0\n"
    "EnablePCIeGen3: 0\n"
    "DynamicPowerManagement: 3\n"
    "EnableGpuFirmware: 18\n"
    "OpenRmEnableUnsupportedGpus: 1\n"
    "ImexChannelCount: 2048\n"
    "CreateImexChannel0: 0\n"
    "CoherentGPUMemoryMode: \"\"\n"
    "RegistryDwords: \"\"\n"
    "RegistryDwordsPerDevice: \"\"\n"
    "RmMsg: \"\"\n"
    "GpuBlacklist: \"\"\n"
    "ExcludedGpus: \"\"\n"
    "TemporaryFilePath: \"\"\n";

std::string Information(const Machine& machine, const Gpu& gpu) {
  const Model& model = ModelOf(machine, gpu);
  const std::pair<std::string_view, std::string> lines[] = {
      {"Model", model.name},
      {"IRQ", Format("{}", 128 + gpu.minor)},
      {"GPU UUID", gpu.uuid},
      {"Video BIOS", model.vbios.empty() ? "??.??.??.??.??" : model.vbios},
      {"Bus Type", "PCIe"},
      {"DMA Size", "47 bits"},
      {"DMA Mask", "0x7fffffffffff"},
      {"Bus Location", gpu.bus_id},
      {"Device Minor", Format("{}", gpu.minor)},
      {"GPU Firmware", model.gsp ? ModuleVersion(machine) : "N/A"},
      {"GPU Excluded", "No"},
  };
  std::string text;
  for (const auto& [key, value] : lines) text += Format("{}: \t {}\n", key, value);
  return text;
}

std::string CapabilityText(unsigned minor, mode_t mode) {
  return Format("DeviceFileMinor: {}\nDeviceFileMode: {}\nDeviceFileModify: 1\n", minor, mode);
}

void AddCapabilities(Folder& driver, const Machine& machine) {
  const auto add = [&](std::string_view path, unsigned minor, mode_t mode) {
    Add(driver, Format("capabilities/{}", path), File{CapabilityText(minor, mode), mode});
  };
  add("mig/config", 1, 0400);
  add("mig/monitor", 2, 0444);
  add("fabric-imex-mgmt", kImexManagementMinor, 0400);
  for (const Gpu& gpu : machine.gpus) {
    if (!Held(machine, gpu)) continue;
    for (const GpuInstance& instance : gpu.instances) {
      const std::string folder = Format("gpu{}/mig/gi{}", gpu.minor, instance.id);
      add(folder + "/access", CapMinor(gpu.minor, instance.id), 0444);
      for (const ComputeInstance& compute : instance.compute) {
        add(Format("{}/ci{}/access", folder, compute.id), CapMinor(gpu.minor, instance.id, compute.id), 0444);
      }
    }
  }
}

// Every instance that could ever be, MIG on or off.
std::string MigMinors() {
  std::string text = "config 1\nmonitor 2\n";
  for (unsigned gpu = 0; gpu < kMaxGpus; ++gpu) {
    for (unsigned gi = 0; gi < kMaxGpuInstances; ++gi) {
      format_to(std::back_inserter(text), "gpu{}/gi{}/access {}\n", gpu, gi, CapMinor(gpu, gi));
      for (unsigned ci = 0; ci < kMaxComputeInstances; ++ci) {
        format_to(std::back_inserter(text), "gpu{}/gi{}/ci{}/access {}\n", gpu, gi, ci, CapMinor(gpu, gi, ci));
      }
    }
  }
  return text;
}

void AddSwitches(Folder& proc, const Machine& machine) {
  if (machine.switches.empty()) return;
  Add(proc, "driver/nvidia-nvswitch/permissions", File{"DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"});
  for (const NvSwitch& nvswitch : machine.switches) {
    Add(proc, Format("driver/nvidia-nvswitch/devices/{}/information", nvswitch.bus_id),
        File{Format("PCI Bus Id: \t {}\nDriver Version: \t {}\n", nvswitch.bus_id, ModuleVersion(machine))});
  }
}

std::string Devices(const Machine& machine) {
  std::vector<std::pair<unsigned, std::string_view>> characters = {
      {1, "mem"}, {4, "tty"}, {5, "/dev/tty"}, {10, "misc"}, {13, "input"}, {29, "fb"}, {136, "pts"}, {226, "drm"}};
  if (machine.driver_loaded) {
    const Majors& majors = machine.majors;
    characters.insert(characters.end(), {{majors.nvidia, "nvidia"},
                                         {majors.nvidia, "nvidia-modeset"},
                                         {majors.nvidia, "nvidiactl"},
                                         {majors.uvm, "nvidia-uvm"},
                                         {majors.nvswitch, "nvidia-nvswitch"},
                                         {majors.nvlink, "nvidia-nvlink"},
                                         {majors.caps, "nvidia-caps"},
                                         {majors.imex, "nvidia-caps-imex-channels"}});
  }
  std::ranges::stable_sort(characters, {}, &std::pair<unsigned, std::string_view>::first);
  std::string text = "Character devices:\n";
  for (const auto& [major, name] : characters) text += Format("{:>3} {}\n", major, name);
  return text + "\nBlock devices:\n  7 loop\n  8 sd\n259 blkext\n";
}

}  // namespace

void AddProc(Folder& top, const Machine& machine) {
  Folder& proc = SubFolder(top, "proc");
  Add(proc, "devices", File{Devices(machine)});
  SubFolder(proc, "driver").owned = {"nvidia"};
  if (!machine.driver_loaded) return;

  Folder& driver = SubFolder(proc, "driver/nvidia");
  Add(driver, "version", File{VersionText(machine)});
  Add(driver, "params", File{std::string(kParams)});
  Add(driver, "registry", File{"Binary: \"\"\n"});
  SubFolder(driver, "gpus");
  for (const Gpu& gpu : machine.gpus) {
    if (!Held(machine, gpu)) continue;
    Add(driver, Format("gpus/{}/information", gpu.bus_id), File{Information(machine, gpu)});
    Add(driver, Format("gpus/{}/registry", gpu.bus_id), File{"Binary: \"\"\n"});
  }
  AddCapabilities(driver, machine);
  Add(proc, "driver/nvidia-caps/mig-minors", File{MigMinors()});
  AddSwitches(proc, machine);
}

}  // namespace tessera::sim
