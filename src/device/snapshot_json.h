// device/snapshot_json.h: a snapshot for programs to read: `tessera devices -o json`.
#pragma once

#include "device/snapshot.h"
#include "json/decode.h"

namespace tessera::device {

template <class F>
void Describe(F& f, Gpu& g) {
  f.Required("index", g.index);
  f.Required("minor", g.minor);
  f.Required("uuid", g.uuid);
  f.Optional("productName", g.product_name);
  f.Optional("brand", g.brand);
  f.Optional("architecture", g.architecture);
  f.Optional("serial", g.serial);
  f.Optional("cudaComputeCapability", g.compute_capability);
  f.Optional("memoryBytes", g.memory_bytes);
  f.Optional("pciBusID", g.bus_id);
  f.Optional("pcieRoot", g.place.root);
  f.Optional("numaNode", g.place.numa_node);
  f.Optional("addressingMode", g.addressing_mode);
  f.Optional("eccEnabled", g.ecc);
  f.Optional("persistenceMode", g.persistence);
  f.Optional("pcieGeneration", g.pcie_generation);
  f.Optional("pcieWidth", g.pcie_width);
  f.Optional("gpuModuleID", g.module_id);
  f.Optional("recoveryAction", g.recovery_action);
  f.Optional("migEnabled", g.mig_enabled);
  f.Optional("nvlinkIsland", g.nvlink_island);
  f.Optional("nvlinkCount", g.nvlink_count);
  f.Optional("nvlinkVersion", g.nvlink_version);
  f.Optional("nvswitch", g.nvswitch);
}

template <class F>
void Describe(F& f, Mig& m) {
  f.Required("uuid", m.uuid);
  f.Required("profile", m.profile);
  f.Required("gpuInstance", m.gpu_instance);
  f.Required("computeInstance", m.compute_instance);
  f.Required("profileID", m.profile_id);
  f.Required("placementStart", m.placement_start);
  f.Required("placementSize", m.placement_size);
  f.Required("memoryBytes", m.memory_bytes);
  f.Required("multiprocessors", m.multiprocessors);
  f.Required("copyEngines", m.copy_engines);
  f.Required("decoders", m.decoders);
  f.Required("encoders", m.encoders);
  f.Required("jpegEngines", m.jpegs);
  f.Required("ofaEngines", m.ofas);
}

template <class F>
void Describe(F& f, Device& d) {
  f.Required("name", d.name);
  f.Required("gpu", d.gpu);
  f.Optional("mig", d.mig);
  f.Optional("gaps", d.gaps);
}

template <class F>
void Describe(F& f, Withheld& w) {
  f.Required("name", w.name);
  f.Optional("uuid", w.uuid);
  f.Optional("productName", w.product_name);
  f.Required("code", w.code);
  f.Required("reason", w.reason);
}

template <class F>
void Describe(F& f, Snapshot& s) {
  f.Optional("driverVersion", s.driver_version);
  f.Optional("cudaDriverVersion", s.cuda_driver_version);
  f.Optional("devices", s.devices);
  f.Optional("withheld", s.withheld);
  f.Optional("gaps", s.gaps);
}

}  // namespace tessera::device
