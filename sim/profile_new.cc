// A profile for so many boards of one model, in the places such boards usually have.
#include <algorithm>

#include "base/text.h"
#include "sim/mig.h"
#include "sim/profile.h"
#include "sim/profile_format.h"

namespace tessera::sim {
namespace {

constexpr unsigned kMaxCount = 32;
constexpr unsigned kTuring = 6;
constexpr unsigned kNvLink4 = 6, kNvLink5 = 7;  // NVML's numbers for NVLink 4.0 and 5.0.
constexpr unsigned kA100Switch = 0x1AF110DE, kH100Switch = 0x22A310DE;

// The domain and bus of a board: two boards on one root, eight roots a domain. Grace boards have a domain each, counted
// as on the GB200 tray.
struct Place {
  unsigned domain, root, bus;
};
Place PlaceOf(const Model& model, unsigned index) {
  if (model.c2c) return {index / 2 * 16 + 8 + index % 2, 0, 1};
  const unsigned root = 0x10 + index / 2 % 8 * 0x1C;
  return {index / 16, root, root + 4 + index % 2 * 4};
}

std::string BusId(const Model& model, unsigned index) {
  const Place place = PlaceOf(model, index);
  return Format("{:04x}:{:02x}:00.0", place.domain, place.bus);
}

// Boards with a slot for a bridge say so by few links or by their name; the others sit on a board with switches.
Wiring UsualWiring(const Model& model, unsigned count) {
  if (!model.nvlink || count < 2) return Wiring::kNone;
  if (model.nvlink->links < 6 || Lower(model.name).find("pcie") != std::string::npos) return Wiring::kPairs;
  return model.nvlink->version >= kNvLink5 ? Wiring::kExternal : Wiring::kSwitches;
}

std::string NumaLines(unsigned count) {
  if (count == 1) return "numa:\n- {id: 0, cpus: 0-31}\n";
  return "numa:\n- {id: 0, cpus: \"0-31,64-95\"}\n- {id: 1, cpus: \"32-63,96-127\"}\n";
}

std::string GpuLines(const std::string& name, const Model& model, unsigned count) {
  std::string text = "gpus:\n";
  for (unsigned i = 0; i < count; ++i) {
    const Place place = PlaceOf(model, i);
    // Boards on a baseboard have a slot there; PCIe boards have none.
    const std::string module = model.nvlink ? Format(", moduleId: {}", i + 1) : std::string();
    text += Format("- {{model: {}, busId: \"{}\", root: \"pci{:04x}:{:02x}\", numa: {}{}}}\n", name, BusId(model, i),
                   place.domain, place.root, count > 1 && i >= (count + 1) / 2 ? 1 : 0, module);
  }
  return text;
}

std::string SwitchLines(const Model& model) {
  const bool hopper = model.nvlink->version >= kNvLink4;
  std::string text = "switches:\n";
  for (unsigned i = 0; i < (hopper ? 4U : 6U); ++i) {
    text += Format("- {{busId: \"0000:{:02x}:00.0\", root: \"pci0000:01\", pciDeviceId: 0x{:08X}}}\n", i + 2,
                   hopper ? kH100Switch : kA100Switch);
  }
  return text;
}

std::string PairLines(const Model& model, unsigned count) {
  std::string text = "  pairs:\n";
  for (unsigned i = 0; i + 1 < count; i += 2) {
    text += Format("  - [\"{}\", \"{}\"]\n", BusId(model, i), BusId(model, i + 1));
  }
  return text;
}

std::string NvLinkLines(const Model& model, unsigned count) {
  const Wiring wiring = UsualWiring(model, count);
  if (wiring == Wiring::kNone) return {};
  std::string text = wiring == Wiring::kSwitches ? SwitchLines(model) : std::string();
  text += Format("nvlink:\n  through: {}\n", ToText(wiring));
  if (wiring == Wiring::kPairs) text += PairLines(model, count);
  return text;
}

std::string FabricLines(const std::string& name, const Model& model, unsigned count) {
  if (!model.fabric || UsualWiring(model, count) == Wiring::kNone) return {};
  if (!model.c2c) return "fabric: {state: 3}  # NVLink inside the node only: no cluster UUID.\n";
  return Format("fabric: {{state: 3, clusterUuid: \"{}\", cliqueId: 1}}\n", UuidFromSeed(name + "/cluster"));
}

}  // namespace

Result<std::string> NewProfile(const std::filesystem::path& data, const std::string& model, unsigned count) {
  if (count == 0 || count > kMaxCount) {
    return BadConfig("BadSimProfile", Format("{} GPUs: from 1 to {} are possible", count, kMaxCount));
  }
  TESSERA_ASSIGN(const Model board, LoadModel(data, model));
  std::string text = Format(
      "# Made by tessera-sim profile new --model {} --count {}: places and wiring are usual ones,\n"
      "# not those of a certain machine. Change what you like.\n",
      model, count);
  text += Format("description: {} x {}\n", count, board.name);
  const bool open = board.architecture >= kTuring;
  text += Format("driver: {{version: 580.159.04, cuda: 13000, nvmlHeader: \"13.0\"{}}}\n", open ? "" : ", open: false");
  text += NumaLines(count) + GpuLines(model, board, count) + NvLinkLines(board, count);
  return text + FabricLines(model, board, count);
}

}  // namespace tessera::sim
