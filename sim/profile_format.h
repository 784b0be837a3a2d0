// sim/profile_format.h: what a profile file says, field by field. Everything optional has the default a reader expects.
//
//   description: Two L4 in one node
//   driver: {version: 570.158.01, cuda: 12080, nvmlHeader: "12.8"}
//   numa:
//   - {id: 0, cpus: 0-31}
//   gpus:
//   - {model: l4, busId: "0000:31:00.0", root: "pci0000:30", numa: 0}
//   - {model: l4, busId: "0000:4b:00.0", root: "pci0000:4a", numa: 0}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sim/machine.h"

namespace tessera::sim {

// One GPU instance and how it is cut: "2g.10gb" at the best place, "2g.10gb@4" at memory slice 4, "3g.20gb@0/2c+1c" cut
// into two compute instances, "3g.20gb/none" without any. Without a cut one compute instance fills it.
struct InstanceText {
  std::string profile;  // By name or id.
  std::optional<unsigned> start;
  std::vector<unsigned> cuts{0};  // Compute slices of each; 0: all of the instance.
};

inline bool FromText(std::string_view text, InstanceText& out) {
  out = {};
  if (const auto cut = Cut(text, "/")) {
    out.cuts.clear();
    for (std::string_view part : Split(cut->second, '+')) {
      if (cut->second == "none") break;
      const auto slices = part.ends_with('c') ? ParseNumber<unsigned>(part.substr(0, part.size() - 1)) : std::nullopt;
      if (!slices || *slices == 0) return false;
      out.cuts.push_back(*slices);
    }
    text = cut->first;
  }
  if (const auto at = Cut(text, "@")) {
    out.start = ParseNumber<unsigned>(at->second);
    if (!out.start) return false;
    text = at->first;
  }
  out.profile = text;
  return !text.empty();
}

inline std::string ToText(const InstanceText& in) {
  std::string text = in.profile;
  if (in.start) text += Format("@{}", *in.start);
  if (in.cuts.empty()) return text + "/none";
  if (in.cuts == std::vector<unsigned>{0}) return text;
  char separator = '/';
  for (const unsigned slices : in.cuts) {
    text += Format("{}{}c", separator, slices);
    separator = '+';
  }
  return text;
}

struct MigText {
  bool enabled = true;
  std::vector<InstanceText> instances;
};
template <class F>
void Describe(F& f, MigText& m) {
  f.Optional("enabled", m.enabled);
  f.Optional("instances", m.instances);
  f.Check(m.enabled || m.instances.empty(), "instances", "need MIG enabled");
}

struct GpuText {
  std::string model;
  std::string bus_id;
  std::string root;                                 // "pci0000:00"
  std::optional<std::vector<std::string>> bridges;  // Without: a root port of its own.
  int numa = -1;
  std::optional<unsigned> minor;  // Without: its position on the PCI bus.
  unsigned module_id = 0;
  bool display = false, vfio = false;
  std::optional<MigText> mig;
};
template <class F>
void Describe(F& f, GpuText& g) {
  f.Required("model", g.model);
  f.Required("busId", g.bus_id);
  f.Required("root", g.root);
  f.Optional("bridges", g.bridges);
  f.Optional("numa", g.numa);
  f.Optional("minor", g.minor);
  f.Optional("moduleId", g.module_id);
  f.Optional("display", g.display);
  f.Optional("vfio", g.vfio);
  f.Optional("mig", g.mig);
}

struct DriverText {
  std::string version = "580.159.04";
  std::string kernel;  // Of the kernel module, where it differs from the library's.
  unsigned cuda = 13000;
  std::string nvml_header = "13.0";
  bool open = true;  // The open kernel module; boards before Turing need the other.
};
template <class F>
void Describe(F& f, DriverText& d) {
  f.Optional("version", d.version);
  f.Optional("kernel", d.kernel);
  f.Optional("cuda", d.cuda);
  f.Optional("nvmlHeader", d.nvml_header);
  f.Optional("open", d.open);
}

struct SwitchText {
  std::string bus_id, root;
  unsigned pci_device_id = 0;
};
template <class F>
void Describe(F& f, SwitchText& s) {
  f.Required("busId", s.bus_id);
  f.Required("root", s.root);
  f.Required("pciDeviceId", s.pci_device_id);
}

// Where the NVLinks of the boards go. Links that go nowhere are there, and down.
enum class Wiring : std::uint8_t {
  kNone,
  kSwitches,  // Spread over the machine's `switches`.
  kExternal,  // To switches that are no PCI devices of this machine: NVLink 5.
  kPairs,     // Bridges between two boards each.
};
inline bool FromText(std::string_view text, Wiring& out) {
  if (text == "none") return out = Wiring::kNone, true;
  if (text == "switches") return out = Wiring::kSwitches, true;
  if (text == "external") return out = Wiring::kExternal, true;
  if (text == "pairs") return out = Wiring::kPairs, true;
  return false;
}
inline std::string ToText(const Wiring& in) {
  switch (in) {
    case Wiring::kSwitches:
      return "switches";
    case Wiring::kExternal:
      return "external";
    case Wiring::kPairs:
      return "pairs";
    default:
      return "none";
  }
}

struct NvLinkText {
  Wiring through = Wiring::kNone;
  std::vector<std::vector<std::string>> pairs;  // Two bus ids each.
};
template <class F>
void Describe(F& f, NvLinkText& n) {
  f.Required("through", n.through);
  f.Optional("pairs", n.pairs);
  f.Check((n.through == Wiring::kPairs) == !n.pairs.empty(), "pairs", "goes with \"through: pairs\", and only with it");
}

struct ProfileText {
  std::string description;
  DriverText driver;
  std::vector<NumaNode> numa;
  std::vector<GpuText> gpus;
  std::vector<SwitchText> switches;
  NvLinkText nvlink;
  std::optional<Fabric> fabric;      // What Fabric Manager or IMEX told the GPUs; the same to all that have the API.
  std::vector<std::string> unknown;  // Facts of this file that nobody here could check.
};
template <class F>
void Describe(F& f, ProfileText& p) {
  f.Required("description", p.description);
  f.Optional("driver", p.driver);
  f.Optional("numa", p.numa);
  f.Optional("gpus", p.gpus);
  f.Optional("switches", p.switches);
  f.Optional("nvlink", p.nvlink);
  f.Optional("fabric", p.fabric);
  f.Optional("unknown", p.unknown);
}

}  // namespace tessera::sim
