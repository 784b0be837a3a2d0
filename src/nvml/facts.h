// nvml/facts.h: what NVML said about a machine, as plain data.
//
// Read in one pass (read.h), carried from the NVML host to the agent as JSON (host.h), and kept in recordings of real
// machines for tests and bug reports. Absent means NVML did not say; `gaps` says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::nvml {

// One question that got no answer. "Not supported" and a symbol the driver is too old for are ordinary and leave none.
struct Gap {
  std::string function;  // "nvmlDeviceGetUUID"
  std::string reason;    // "GPU is lost (15)", "did not answer within 5 s"
  bool operator==(const Gap&) const = default;
};

struct NvLinkFacts {
  unsigned link = 0;
  bool active = false;
  std::optional<unsigned> version;      // NVML's enum.
  std::optional<unsigned> remote_type;  // 0 GPU, 2 switch.
  std::string remote_bus_id;            // As NVML prints it; empty when not known.
  bool operator==(const NvLinkFacts&) const = default;
};

struct FabricFacts {
  unsigned state = 0;
  int status = 0;  // Meaningful when state is 3.
  std::string cluster_uuid;
  unsigned clique_id = 0;
  std::optional<unsigned> health_mask;
  bool operator==(const FabricFacts&) const = default;
};

// A GPU instance profile of the table that NVML has for this GPU.
struct MigProfileFacts {
  unsigned number = 0, id = 0, slices = 0, instances = 0, multiprocessors = 0;
  unsigned copy_engines = 0, decoders = 0, encoders = 0, jpegs = 0, ofas = 0;
  std::uint64_t memory_mb = 0;
  bool operator==(const MigProfileFacts&) const = default;
};

struct MigFacts {
  unsigned index = 0;  // Below its parent.
  std::string uuid;
  std::optional<unsigned> gpu_instance, compute_instance;
  std::optional<unsigned> profile_id;  // Of the GPU instance.
  unsigned placement_start = 0, placement_size = 0;
  std::optional<unsigned> compute_slices, multiprocessors;  // Of the compute instance.
  std::vector<Gap> gaps;
  bool operator==(const MigFacts&) const = default;
};

struct GpuFacts {
  unsigned index = 0;
  std::string uuid;
  std::optional<unsigned> minor;
  std::string name;
  std::optional<unsigned> brand, architecture;
  std::optional<unsigned> cc_major, cc_minor;
  std::optional<std::uint64_t> memory_bytes;
  std::string bus_id;  // As NVML prints it: "00000000:07:00.0".
  std::optional<unsigned> pci_device_id;
  std::optional<unsigned> addressing_mode;
  std::optional<bool> ecc, persistence;
  std::optional<unsigned> pcie_generation, pcie_width;  // The most the link can do.
  std::optional<unsigned> module_id;
  std::string serial;
  std::optional<bool> mig_enabled;  // Absent: not MIG capable.
  std::optional<unsigned> virtualization_mode;
  std::optional<unsigned> recovery_action;
  std::vector<NvLinkFacts> links;
  std::optional<FabricFacts> fabric;
  std::vector<MigProfileFacts> mig_profiles;  // Only when MIG is on.
  std::vector<MigFacts> mig_devices;
  std::vector<Gap> gaps;
  bool operator==(const GpuFacts&) const = default;
};

struct MachineFacts {
  std::string library;  // The file that answered.
  std::string driver_version;
  std::optional<unsigned> cuda_version;  // 13000 is 13.0.
  std::vector<GpuFacts> gpus;
  std::vector<Gap> gaps;  // Of questions about the machine as a whole.
  bool operator==(const MachineFacts&) const = default;
};

// ---- JSON.

template <class F>
void Describe(F& f, Gap& g) {
  f.Required("function", g.function);
  f.Required("reason", g.reason);
}

template <class F>
void Describe(F& f, NvLinkFacts& n) {
  f.Required("link", n.link);
  f.Required("active", n.active);
  f.Optional("version", n.version);
  f.Optional("remoteType", n.remote_type);
  f.Optional("remoteBusId", n.remote_bus_id);
}

template <class F>
void Describe(F& f, FabricFacts& a) {
  f.Required("state", a.state);
  f.Optional("status", a.status);
  f.Optional("clusterUuid", a.cluster_uuid);
  f.Optional("cliqueId", a.clique_id);
  f.Optional("healthMask", a.health_mask);
}

template <class F>
void Describe(F& f, MigProfileFacts& p) {
  f.Required("number", p.number);
  f.Required("id", p.id);
  f.Required("slices", p.slices);
  f.Required("instances", p.instances);
  f.Required("multiprocessors", p.multiprocessors);
  f.Required("copyEngines", p.copy_engines);
  f.Required("decoders", p.decoders);
  f.Required("encoders", p.encoders);
  f.Required("jpegs", p.jpegs);
  f.Required("ofas", p.ofas);
  f.Required("memoryMB", p.memory_mb);
}

template <class F>
void Describe(F& f, MigFacts& m) {
  f.Required("index", m.index);
  f.Optional("uuid", m.uuid);
  f.Optional("gpuInstance", m.gpu_instance);
  f.Optional("computeInstance", m.compute_instance);
  f.Optional("profileId", m.profile_id);
  f.Optional("placementStart", m.placement_start);
  f.Optional("placementSize", m.placement_size);
  f.Optional("computeSlices", m.compute_slices);
  f.Optional("multiprocessors", m.multiprocessors);
  f.Optional("gaps", m.gaps);
}

template <class F>
void Describe(F& f, GpuFacts& g) {
  f.Required("index", g.index);
  f.Optional("uuid", g.uuid);
  f.Optional("minor", g.minor);
  f.Optional("name", g.name);
  f.Optional("brand", g.brand);
  f.Optional("architecture", g.architecture);
  f.Optional("ccMajor", g.cc_major);
  f.Optional("ccMinor", g.cc_minor);
  f.Optional("memoryBytes", g.memory_bytes);
  f.Optional("busId", g.bus_id);
  f.Optional("pciDeviceId", g.pci_device_id);
  f.Optional("addressingMode", g.addressing_mode);
  f.Optional("ecc", g.ecc);
  f.Optional("persistence", g.persistence);
  f.Optional("pcieGeneration", g.pcie_generation);
  f.Optional("pcieWidth", g.pcie_width);
  f.Optional("moduleId", g.module_id);
  f.Optional("serial", g.serial);
  f.Optional("migEnabled", g.mig_enabled);
  f.Optional("virtualizationMode", g.virtualization_mode);
  f.Optional("recoveryAction", g.recovery_action);
  f.Optional("links", g.links);
  f.Optional("fabric", g.fabric);
  f.Optional("migProfiles", g.mig_profiles);
  f.Optional("migDevices", g.mig_devices);
  f.Optional("gaps", g.gaps);
}

template <class F>
void Describe(F& f, MachineFacts& m) {
  f.Optional("library", m.library);
  f.Optional("driverVersion", m.driver_version);
  f.Optional("cudaVersion", m.cuda_version);
  f.Optional("gpus", m.gpus);
  f.Optional("gaps", m.gaps);
}

}  // namespace tessera::nvml
