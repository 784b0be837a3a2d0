// sim/machine.h: a simulated machine with NVIDIA GPUs, as one value.
//
// A profile (sim/profiles) becomes a Machine; the Machine is what state.json holds, what the simulated
// libnvidia-ml.so.1 answers from, and what tessera-sim changes. Plain data: behaviour is in the files that use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::sim {

// ---- What all boards of one kind share: sim/models/*.yaml.

// One row of a MIG table. Placements count memory slices.
struct MigProfile {
  unsigned number = 0;  // NVML_GPU_INSTANCE_PROFILE_*: what a caller asks with.
  unsigned id = 0;      // The profile id that NVML answers with.
  unsigned slices = 0;  // Compute slices.
  unsigned instances = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0, decoders = 0, encoders = 0, jpegs = 0, ofas = 0;
  std::uint64_t memory_mb = 0;
  std::vector<unsigned> starts;  // Where it may be placed …
  unsigned size = 0;             // … and how many memory slices it takes.
  bool operator==(const MigProfile&) const = default;
};

struct NvLinkModel {
  unsigned links = 0;
  unsigned version = 0;     // NVML's enum: 4 is NVLink 3.0, 6 is 4.0, 7 is 5.0.
  unsigned speed_mbps = 0;  // Per link, MB/s.
  bool operator==(const NvLinkModel&) const = default;
};

struct Model {
  std::string name;           // As nvmlDeviceGetName answers.
  unsigned brand = 0;         // nvmlBrandType_t
  unsigned architecture = 0;  // NVML_DEVICE_ARCH_*
  unsigned cc_major = 0, cc_minor = 0;
  unsigned pci_device_id = 0;     // device << 16 | 0x10DE
  unsigned pci_subsystem_id = 0;  // 0 where not known.
  unsigned pci_class = 0x030200;  // 3D controller; 0x030000 for boards with a display.
  std::uint64_t memory_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t bar1_bytes = 0;
  unsigned cores = 0;
  unsigned memory_bus_width = 0;
  unsigned multiprocessors = 0;
  unsigned pcie_generation = 0, pcie_width = 16;
  bool ecc = false;            // Has ECC, and it is on.
  bool row_remapping = false;  // Ampere and later data-centre boards.
  unsigned remap_banks = 0;
  bool page_retirement = false;  // Before Ampere.
  bool serial = true;            // Has an inforom, hence a serial number.
  unsigned power_default_mw = 0, power_min_mw = 0, power_max_mw = 0, power_idle_mw = 0;
  unsigned temp_idle = 35, temp_shutdown = 0, temp_slowdown = 0, temp_memory_max = 0, temp_gpu_max = 0;
  std::string vbios;
  std::string part_number;
  bool gsp = false;                         // Runs GSP firmware.
  std::uint64_t events = 0;                 // Supported event types.
  std::optional<unsigned> addressing_mode;  // 0 none, 1 HMM, 2 ATS; absent: NOT_SUPPORTED.
  bool c2c = false;                         // Grace boards.
  bool fabric = false;                      // Has the fabric API (Hopper and later with NVSwitch).
  bool resetless_mig = false;               // Hopper and later.
  std::optional<NvLinkModel> nvlink;
  std::vector<MigProfile> mig;       // Empty: not MIG capable.
  std::vector<std::string> unknown;  // Facts of this file that nobody here could check.
  bool operator==(const Model&) const = default;
};

// ---- One GPU of the machine: identity, place, and what changes at run time.

struct ComputeInstance {
  unsigned id = 0;
  unsigned profile = 0;  // Compute instance profile number (equals its id).
  unsigned start = 0, size = 0;
  unsigned mig_index = 0;  // Index of the MIG device below its parent.
  std::string uuid;        // Of the MIG device: "MIG-…".
  bool operator==(const ComputeInstance&) const = default;
};

struct GpuInstance {
  unsigned id = 0;
  unsigned profile_id = 0;
  unsigned start = 0, size = 0;  // Memory slices.
  std::vector<ComputeInstance> compute;
  bool operator==(const GpuInstance&) const = default;
};

struct NvLink {
  bool up = true;
  unsigned remote_type = 2;  // 0 GPU, 2 switch.
  std::string remote_bus_id;
  unsigned remote_link = 0;
  std::uint64_t replay_errors = 0, recovery_errors = 0, crc_flit_errors = 0, crc_data_errors = 0, ecc_errors = 0;
  bool operator==(const NvLink&) const = default;
};

struct Fabric {
  unsigned state = 3;   // 0 not supported, 1 not started, 2 in progress, 3 completed.
  unsigned status = 0;  // nvmlReturn_t, meaningful in state 3.
  std::string cluster_uuid = "00000000-0000-0000-0000-000000000000";
  unsigned clique_id = 0;
  unsigned health_mask = 0x1AA;  // All clear.
  unsigned health_summary = 1;
  bool operator==(const Fabric&) const = default;
};

struct EccCounters {
  std::uint64_t corrected_volatile = 0, corrected_aggregate = 0;
  std::uint64_t uncorrected_volatile = 0, uncorrected_aggregate = 0;
  bool sram_threshold_exceeded = false;
  bool operator==(const EccCounters&) const = default;
};

struct RemappedRows {
  unsigned correctable = 0, uncorrectable = 0;
  bool pending = false, failed = false;
  bool operator==(const RemappedRows&) const = default;
};

struct Process {
  unsigned pid = 0;
  std::uint64_t memory = 0;
  std::optional<unsigned> gpu_instance, compute_instance;
  bool operator==(const Process&) const = default;
};

struct Gpu {
  std::string model;  // Key into Machine::models.
  unsigned minor = 0;
  std::string uuid;                  // "GPU-…"
  std::string serial;                // 13 digits, or empty.
  std::string bus_id;                // "0000:07:00.0": domain, bus, device, function, lower case.
  std::string pcie_root;             // "pci0000:00"
  std::vector<std::string> bridges;  // PCI addresses between root and GPU, outermost first.
  int numa_node = -1;
  unsigned module_id = 0;
  bool display = false;  // A DGX Station's display adapter: NVML lists it, nobody should schedule it.

  bool present = true;    // False: unplugged.
  bool lost = false;      // Fallen off the bus: every call answers GPU_IS_LOST.
  bool vfio = false;      // Bound to vfio-pci: NVML does not see it, sysfs does.
  bool draining = false;  // As nvmlDeviceModifyDrainState set it; reported, without effect.
  bool persistence = true;
  unsigned compute_mode = 0;
  bool ecc_pending = true;
  unsigned mig_mode = 0, mig_pending = 0;
  unsigned mig_activation = 0;  // What nvmlDeviceSetMigMode reports as activation status; 0 activates at once.
  std::vector<GpuInstance> instances;
  unsigned temperature = 35;
  unsigned power_mw = 0;
  unsigned utilization = 0;                      // Percent.
  std::uint64_t clocks_event_reasons = 1;        // Idle.
  unsigned pcie_generation = 0, pcie_width = 0;  // Current; 0: the model's.
  unsigned pcie_replays = 0;
  unsigned recovery_action = 0;
  std::uint64_t memory_used = 0;
  EccCounters ecc;
  RemappedRows remapped;
  unsigned retired_pages = 0;             // For a double-bit error …
  unsigned retired_pages_single_bit = 0;  // … and for many single-bit ones.
  bool retired_pending = false;
  std::vector<NvLink> links;
  std::optional<Fabric> fabric;
  std::vector<Process> processes;
  bool operator==(const Gpu&) const = default;
};

struct NvSwitch {
  std::string bus_id;
  std::string pcie_root;
  unsigned pci_device_id = 0;
  bool operator==(const NvSwitch&) const = default;
};

struct NumaNode {
  int id = 0;
  std::string cpus;  // "0-31,64-95"
  bool operator==(const NumaNode&) const = default;
};

// A function made to misbehave.
struct Fault {
  std::string function;           // "nvmlDeviceGetUUID", or "*" for every function.
  std::optional<unsigned> minor;  // Only on this GPU (and its MIG devices).
  int code = 0;                   // What to return instead. 0: nothing is returned instead (see hang, crash, garbage).
  std::int64_t remaining = -1;    // How many more calls; -1: until cleared.
  unsigned hang_ms = 0;           // Sleep this long first.
  bool crash = false;             // Kill the calling process with SIGSEGV.
  bool garbage = false;           // Answer success and nonsense: every byte 0xA5.
  bool operator==(const Fault&) const = default;
};

// Major numbers of the character devices; the tree's /proc/devices says the same.
struct Majors {
  unsigned nvidia = 195, uvm = 238, nvswitch = 239, nvlink = 240, caps = 241, imex = 242;
  bool operator==(const Majors&) const = default;
};

struct Machine {
  std::string profile;            // The name it was made from.
  std::string driver_version;     // "580.159.04": of the library and the kernel module alike …
  std::string kernel_version;     // … unless this differs: then nvmlInit answers LIB_RM_VERSION_MISMATCH.
  unsigned cuda_version = 13000;  // 13000 is 13.0.
  std::string nvml_header;        // "13.0": symbols that came later are missing from the library.
  bool driver_loaded = true;
  bool open_kernel_module = true;
  std::uint64_t generation = 0;  // Grows with each change.
  std::uint64_t next_uuid = 1;   // Seed of the next MIG UUID.
  Majors majors;
  std::vector<NumaNode> numa;
  std::map<std::string, Model> models;
  std::vector<Gpu> gpus;  // In PCI order, which is NVML's index order.
  std::vector<NvSwitch> switches;
  std::vector<Fault> faults;
  bool operator==(const Machine&) const = default;
};

// ---- JSON, for state.json and the YAML files.

template <class F>
void Describe(F& f, MigProfile& p) {
  f.Required("number", p.number);
  f.Required("id", p.id);
  f.Required("slices", p.slices);
  f.Required("instances", p.instances);
  f.Required("multiprocessors", p.multiprocessors);
  f.Optional("copyEngines", p.copy_engines);
  f.Optional("decoders", p.decoders);
  f.Optional("encoders", p.encoders);
  f.Optional("jpegs", p.jpegs);
  f.Optional("ofas", p.ofas);
  f.Required("memoryMB", p.memory_mb);
  f.Required("starts", p.starts);
  f.Required("size", p.size);
}

template <class F>
void Describe(F& f, NvLinkModel& n) {
  f.Required("links", n.links);
  f.Required("version", n.version);
  f.Required("speedMBps", n.speed_mbps);
}

template <class F>
void Describe(F& f, Model& m) {
  f.Required("name", m.name);
  f.Required("brand", m.brand);
  f.Required("architecture", m.architecture);
  f.Required("ccMajor", m.cc_major);
  f.Required("ccMinor", m.cc_minor);
  f.Required("pciDeviceId", m.pci_device_id);
  f.Optional("pciSubsystemId", m.pci_subsystem_id);
  f.Optional("pciClass", m.pci_class);
  f.Required("memoryBytes", m.memory_bytes);
  f.Optional("reservedBytes", m.reserved_bytes);
  f.Optional("bar1Bytes", m.bar1_bytes);
  f.Optional("cores", m.cores);
  f.Optional("memoryBusWidth", m.memory_bus_width);
  f.Optional("multiprocessors", m.multiprocessors);
  f.Required("pcieGeneration", m.pcie_generation);
  f.Optional("pcieWidth", m.pcie_width);
  f.Optional("ecc", m.ecc);
  f.Optional("rowRemapping", m.row_remapping);
  f.Optional("remapBanks", m.remap_banks);
  f.Optional("pageRetirement", m.page_retirement);
  f.Optional("serial", m.serial);
  f.Optional("powerDefaultMilliwatts", m.power_default_mw);
  f.Optional("powerMinMilliwatts", m.power_min_mw);
  f.Optional("powerMaxMilliwatts", m.power_max_mw);
  f.Optional("powerIdleMilliwatts", m.power_idle_mw);
  f.Optional("tempIdle", m.temp_idle);
  f.Optional("tempShutdown", m.temp_shutdown);
  f.Optional("tempSlowdown", m.temp_slowdown);
  f.Optional("tempMemoryMax", m.temp_memory_max);
  f.Optional("tempGpuMax", m.temp_gpu_max);
  f.Optional("vbios", m.vbios);
  f.Optional("partNumber", m.part_number);
  f.Optional("gsp", m.gsp);
  f.Optional("events", m.events);
  f.Optional("addressingMode", m.addressing_mode);
  f.Optional("c2c", m.c2c);
  f.Optional("fabric", m.fabric);
  f.Optional("resetlessMig", m.resetless_mig);
  f.Optional("nvlink", m.nvlink);
  f.Optional("mig", m.mig);
  f.Optional("unknown", m.unknown);
}

template <class F>
void Describe(F& f, ComputeInstance& c) {
  f.Required("id", c.id);
  f.Required("profile", c.profile);
  f.Required("start", c.start);
  f.Required("size", c.size);
  f.Required("migIndex", c.mig_index);
  f.Required("uuid", c.uuid);
}

template <class F>
void Describe(F& f, GpuInstance& g) {
  f.Required("id", g.id);
  f.Required("profileId", g.profile_id);
  f.Required("start", g.start);
  f.Required("size", g.size);
  f.Optional("compute", g.compute);
}

template <class F>
void Describe(F& f, NvLink& n) {
  f.Optional("up", n.up);
  f.Optional("remoteType", n.remote_type);
  f.Optional("remoteBusId", n.remote_bus_id);
  f.Optional("remoteLink", n.remote_link);
  f.Optional("replayErrors", n.replay_errors);
  f.Optional("recoveryErrors", n.recovery_errors);
  f.Optional("crcFlitErrors", n.crc_flit_errors);
  f.Optional("crcDataErrors", n.crc_data_errors);
  f.Optional("eccErrors", n.ecc_errors);
}

template <class F>
void Describe(F& f, Fabric& a) {
  f.Optional("state", a.state);
  f.Optional("status", a.status);
  f.Optional("clusterUuid", a.cluster_uuid);
  f.Optional("cliqueId", a.clique_id);
  f.Optional("healthMask", a.health_mask);
  f.Optional("healthSummary", a.health_summary);
}

template <class F>
void Describe(F& f, EccCounters& e) {
  f.Optional("correctedVolatile", e.corrected_volatile);
  f.Optional("correctedAggregate", e.corrected_aggregate);
  f.Optional("uncorrectedVolatile", e.uncorrected_volatile);
  f.Optional("uncorrectedAggregate", e.uncorrected_aggregate);
  f.Optional("sramThresholdExceeded", e.sram_threshold_exceeded);
}

template <class F>
void Describe(F& f, RemappedRows& r) {
  f.Optional("correctable", r.correctable);
  f.Optional("uncorrectable", r.uncorrectable);
  f.Optional("pending", r.pending);
  f.Optional("failed", r.failed);
}

template <class F>
void Describe(F& f, Process& p) {
  f.Required("pid", p.pid);
  f.Optional("memory", p.memory);
  f.Optional("gpuInstance", p.gpu_instance);
  f.Optional("computeInstance", p.compute_instance);
}

template <class F>
void Describe(F& f, Gpu& g) {
  f.Required("model", g.model);
  f.Required("minor", g.minor);
  f.Required("uuid", g.uuid);
  f.Optional("serial", g.serial);
  f.Required("busId", g.bus_id);
  f.Required("pcieRoot", g.pcie_root);
  f.Optional("bridges", g.bridges);
  f.Optional("numaNode", g.numa_node);
  f.Optional("moduleId", g.module_id);
  f.Optional("display", g.display);
  f.Optional("present", g.present);
  f.Optional("lost", g.lost);
  f.Optional("vfio", g.vfio);
  f.Optional("draining", g.draining);
  f.Optional("persistence", g.persistence);
  f.Optional("computeMode", g.compute_mode);
  f.Optional("eccPending", g.ecc_pending);
  f.Optional("migMode", g.mig_mode);
  f.Optional("migPending", g.mig_pending);
  f.Optional("migActivation", g.mig_activation);
  f.Optional("instances", g.instances);
  f.Optional("temperature", g.temperature);
  f.Optional("powerMilliwatts", g.power_mw);
  f.Optional("utilization", g.utilization);
  f.Optional("clocksEventReasons", g.clocks_event_reasons);
  f.Optional("pcieGeneration", g.pcie_generation);
  f.Optional("pcieWidth", g.pcie_width);
  f.Optional("pcieReplays", g.pcie_replays);
  f.Optional("recoveryAction", g.recovery_action);
  f.Optional("memoryUsed", g.memory_used);
  f.Optional("ecc", g.ecc);
  f.Optional("remapped", g.remapped);
  f.Optional("retiredPages", g.retired_pages);
  f.Optional("retiredPagesSingleBit", g.retired_pages_single_bit);
  f.Optional("retiredPending", g.retired_pending);
  f.Optional("links", g.links);
  f.Optional("fabric", g.fabric);
  f.Optional("processes", g.processes);
}

template <class F>
void Describe(F& f, NvSwitch& s) {
  f.Required("busId", s.bus_id);
  f.Required("pcieRoot", s.pcie_root);
  f.Required("pciDeviceId", s.pci_device_id);
}

template <class F>
void Describe(F& f, NumaNode& n) {
  f.Required("id", n.id);
  f.Required("cpus", n.cpus);
}

template <class F>
void Describe(F& f, Fault& x) {
  f.Required("function", x.function);
  f.Optional("minor", x.minor);
  f.Optional("code", x.code);
  f.Optional("remaining", x.remaining);
  f.Optional("hangMs", x.hang_ms);
  f.Optional("crash", x.crash);
  f.Optional("garbage", x.garbage);
}

template <class F>
void Describe(F& f, Majors& m) {
  f.Required("nvidia", m.nvidia);
  f.Required("uvm", m.uvm);
  f.Required("nvswitch", m.nvswitch);
  f.Required("nvlink", m.nvlink);
  f.Required("caps", m.caps);
  f.Required("imex", m.imex);
}

template <class F>
void Describe(F& f, Machine& m) {
  f.Required("profile", m.profile);
  f.Required("driverVersion", m.driver_version);
  f.Required("kernelVersion", m.kernel_version);
  f.Required("cudaVersion", m.cuda_version);
  f.Required("nvmlHeader", m.nvml_header);
  f.Optional("driverLoaded", m.driver_loaded);
  f.Optional("openKernelModule", m.open_kernel_module);
  f.Optional("generation", m.generation);
  f.Optional("nextUuid", m.next_uuid);
  f.Optional("majors", m.majors);
  f.Optional("numa", m.numa);
  f.Required("models", m.models);
  f.Optional("gpus", m.gpus);
  f.Optional("switches", m.switches);
  f.Optional("faults", m.faults);
}

}  // namespace tessera::sim
