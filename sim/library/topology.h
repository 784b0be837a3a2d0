// sim/library/topology.h: one model of bridges, NUMA nodes and links, from which every answer about nearness follows.
#pragma once

#include <vector>

#include "sim/machine.h"

namespace tessera::sim::library {

// nvmlGpuTopologyLevel_t
enum : unsigned {
  kTopologyInternal = 0,
  kTopologySingle = 10,      // One PCIe switch.
  kTopologyMultiple = 20,    // Several, without the host bridge.
  kTopologyHostBridge = 30,  // One host bridge.
  kTopologyNode = 40,        // One NUMA node.
  kTopologySystem = 50,
};

// Of two different GPUs.
unsigned CommonAncestor(const Gpu& a, const Gpu& b);

// Whether an NVLink path is up, directly or through a switch that both reach.
bool NvLinked(const Gpu& a, const Gpu& b);

// The host NUMA nodes and CPUs near a GPU; all there are when the firmware does not say (numa_node -1).
std::vector<unsigned> NearNodes(const Machine& machine, const Gpu& gpu);
std::vector<unsigned> NearCpus(const Machine& machine, const Gpu& gpu);

}  // namespace tessera::sim::library
