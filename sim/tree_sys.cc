// What the kernel shows below /sys: the PCI tree, NUMA nodes, the loaded module.
#include <array>

#include "base/text.h"
#include "sim/tree_parts.h"

namespace tessera::sim {
namespace {

constexpr unsigned kBridgeClass = 0x060400, kSwitchClass = 0x068000;
constexpr unsigned kBridgeId = 0x9797'10b5;  // A common PCIe switch.

// One PCI function.
struct Function {
  std::string path;  // Below sys/devices: "pci0000:00/0000:00:01.0/0000:07:00.0".
  std::string bus_id;
  unsigned id = 0, subsystem = 0;  // device << 16 | vendor
  unsigned pci_class = 0;
  int numa_node = -1;
  std::string driver;  // Empty: none bound.
};

File Line(std::string text) { return File{std::move(text) + '\n'}; }
File Hex(unsigned value, int digits) { return Line(Format("{:#0{}x}", value, digits + 2)); }

// From a folder that is `depth` levels below sys/ back up to it.
std::string Up(std::size_t depth) {
  std::string path;
  for (std::size_t i = 0; i < depth; ++i) path += "../";
  return path;
}

void AddFunction(Folder& sys, const Function& f) {
  Folder& folder = SubFolder(sys, "devices/" + f.path);
  Add(folder, "vendor", Hex(f.id & 0xFFFFU, 4));
  Add(folder, "device", Hex(f.id >> 16U, 4));
  Add(folder, "class", Hex(f.pci_class, 6));
  Add(folder, "numa_node", Line(Format("{}", f.numa_node)));
  if (f.subsystem != 0) {
    Add(folder, "subsystem_vendor", Hex(f.subsystem & 0xFFFFU, 4));
    Add(folder, "subsystem_device", Hex(f.subsystem >> 16U, 4));
  }
  const std::string up = Up(2 + Split(f.path, '/').size() - 1);
  Add(folder, "subsystem", Link{up + "bus/pci"});
  Add(sys, "bus/pci/devices/" + f.bus_id, Link{"../../../devices/" + f.path});
  if (f.driver.empty()) return;
  Add(folder, "driver", Link{up + "bus/pci/drivers/" + f.driver});
  Add(sys, Format("bus/pci/drivers/{}/{}", f.driver, f.bus_id), Link{"../../../../devices/" + f.path});
}

// PCI Express transfer rates by generation, as the kernel prints them.
std::string_view Speed(unsigned generation) {
  constexpr std::array<std::string_view, 7> kSpeeds{"Unknown",       "2.5 GT/s PCIe",  "5.0 GT/s PCIe",
                                                    "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
                                                    "64.0 GT/s PCIe"};
  return generation < kSpeeds.size() ? kSpeeds[generation] : kSpeeds[0];
}

void AddLinkSpeed(Folder& folder, const Model& model, const Gpu& gpu) {
  const unsigned generation = gpu.pcie_generation != 0 ? gpu.pcie_generation : model.pcie_generation;
  const unsigned width = gpu.pcie_width != 0 ? gpu.pcie_width : model.pcie_width;
  Add(folder, "current_link_speed", Line(std::string(Speed(generation))));
  Add(folder, "current_link_width", Line(Format("{}", width)));
  Add(folder, "max_link_speed", Line(std::string(Speed(model.pcie_generation))));
  Add(folder, "max_link_width", Line(Format("{}", model.pcie_width)));
}

// Start, end and flags of the six BARs and the ROM: registers in BAR 0, memory in 1, more registers in 3.
std::string Resource(const Model& model, const Gpu& gpu) {
  struct Bar {
    std::uint64_t start, size;
    unsigned flags;
  };
  const std::uint64_t high = 0x2000'0000'0000 + (std::uint64_t{gpu.minor} << 40U);
  const std::uint64_t memory = model.bar1_bytes != 0 ? model.bar1_bytes : std::uint64_t{256} << 20U;
  const std::array<Bar, 7> bars{Bar{0xA000'0000 + (std::uint64_t{gpu.minor} << 24U), std::uint64_t{16} << 20U, 0x40200},
                                Bar{high, memory, 0x14220C},
                                Bar{},
                                Bar{high + memory, std::uint64_t{32} << 20U, 0x14220C},
                                Bar{},
                                Bar{},
                                Bar{}};
  std::string text;
  for (const Bar& bar : bars) {
    text += Format("{:#018x} {:#018x} {:#018x}\n", bar.start, bar.size == 0 ? 0 : bar.start + bar.size - 1, bar.flags);
  }
  return text;
}

std::string_view CpusOf(const Machine& machine, int node) {
  for (const NumaNode& numa : machine.numa) {
    if (numa.id == node) return numa.cpus;
  }
  return "";
}

// The bridges stay when a GPU is pulled out.
void AddGpu(Folder& sys, const Machine& machine, const Gpu& gpu) {
  std::string path = gpu.pcie_root;
  SubFolder(sys, "devices/" + path);
  for (const std::string& bridge : gpu.bridges) {
    path += '/' + bridge;
    AddFunction(sys, {.path = path,
                      .bus_id = bridge,
                      .id = kBridgeId,
                      .pci_class = kBridgeClass,
                      .numa_node = gpu.numa_node,
                      .driver = "pcieport"});
  }
  if (!gpu.present) return;
  path += '/' + gpu.bus_id;
  const Model& model = ModelOf(machine, gpu);
  AddFunction(sys, {.path = path,
                    .bus_id = gpu.bus_id,
                    .id = model.pci_device_id,
                    .subsystem = model.pci_subsystem_id,
                    .pci_class = model.pci_class,
                    .numa_node = gpu.numa_node,
                    .driver = gpu.vfio ? "vfio-pci" : (machine.driver_loaded ? "nvidia" : "")});
  Folder& folder = SubFolder(sys, "devices/" + path);
  Add(folder, "resource", File{Resource(model, gpu)});
  Add(folder, "local_cpulist", Line(std::string(CpusOf(machine, gpu.numa_node))));
  AddLinkSpeed(folder, model, gpu);
}

}  // namespace

void AddSys(Folder& top, const Machine& machine) {
  Folder& sys = SubFolder(top, "sys");
  SubFolder(sys, "devices").owned = {"pci"};
  SubFolder(sys, "bus").owned = {"pci"};
  SubFolder(sys, "bus/pci/devices");
  SubFolder(sys, "bus/pci/drivers");
  for (const Gpu& gpu : machine.gpus) AddGpu(sys, machine, gpu);
  for (const NvSwitch& nvswitch : machine.switches) {
    AddFunction(sys, {.path = nvswitch.pcie_root + '/' + nvswitch.bus_id,
                      .bus_id = nvswitch.bus_id,
                      .id = nvswitch.pci_device_id,
                      .pci_class = kSwitchClass,
                      .driver = machine.driver_loaded ? "nvidia-nvswitch" : ""});
  }

  Folder& nodes = SubFolder(sys, "devices/system/node");
  nodes.owned = {"node"};
  for (const NumaNode& numa : machine.numa) Add(nodes, Format("node{}/cpulist", numa.id), Line(numa.cpus));

  Folder& modules = SubFolder(sys, "module");
  modules.owned = {"nvidia"};
  if (!machine.driver_loaded) return;
  SubFolder(sys, "bus/pci/drivers/nvidia");
  Add(modules, "nvidia/version", Line(ModuleVersion(machine)));
  Add(modules, "nvidia/initstate", Line("live"));
  Add(modules, "nvidia_uvm/initstate", Line("live"));
}

}  // namespace tessera::sim
