// What a sick GPU shows: repairs, links, clocks, PCIe, fabric, and the driver's advice.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "nvml/abi.h"
#include "sim/tessera_sim/commands.h"

namespace tessera::sim::command {
namespace {

namespace abi = nvml::abi;

constexpr std::uint64_t kXidRowRemapped = 63, kXidRowRemapFailed = 64, kXidRecoveryActionChanged = 154;

// A word of the command line and what it stands for.
struct Word {
  std::string_view word;
  std::uint64_t value;
};
constexpr std::array kSlowdowns{
    Word{"none", 0},
    Word{"thermal", abi::kClocksHardwareSlowdown | abi::kClocksHardwareThermal},
    Word{"software-thermal", abi::kClocksSoftwareThermal},
    Word{"power-brake", abi::kClocksHardwareSlowdown | abi::kClocksHardwarePowerBrake},
    Word{"power-cap", abi::kClocksSoftwarePowerCap},
};
constexpr std::array kRecoveryActions{
    Word{"none", 0}, Word{"reset", 1}, Word{"reboot", 2}, Word{"drain-p2p", 3}, Word{"drain-and-reset", 4},
};

template <std::size_t N>
Result<std::uint64_t> Meaning(const std::array<Word, N>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Word::word);
  if (found != words.end()) return found->value;
  std::vector<std::string> known;
  for (const Word& each : words) known.emplace_back(each.word);
  return BadConfig("BadWord", Format("{} means nothing here", Quote(word)), "one of: " + Join(known, ", "));
}

Result<void> Require(bool has, const Gpu& gpu, std::string_view what) {
  if (has) return {};
  return BadConfig("NotOnThisGpu", Format("{} has no {}", Label(gpu), what));
}

}  // namespace

Output Remap(const Path& root, const std::string& gpu, const RemapOptions& options) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    TESSERA_TRY(Require(machine.models.at(found.model).row_remapping, found, "row remapping"));
    found.remapped.correctable += options.corrected;
    found.remapped.uncorrectable += options.uncorrected;
    found.remapped.pending = found.remapped.pending || options.pending;
    found.remapped.failed = found.remapped.failed || options.failed;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  if (options.corrected + options.uncorrected > 0) {
    TESSERA_TRY(Emit(*store, now, abi::kEventXidCritical, kXidRowRemapped));
  }
  if (options.failed) TESSERA_TRY(Emit(*store, now, abi::kEventXidCritical, kXidRowRemapFailed));
  return Format("{}: {} rows remapped{}{}\n", Label(now), now.remapped.correctable + now.remapped.uncorrectable,
                now.remapped.pending ? ", one pending" : "", now.remapped.failed ? ", one failed" : "");
}

Output Retire(const Path& root, const std::string& gpu, const RetireOptions& options) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    TESSERA_TRY(Require(machine.models.at(found.model).page_retirement, found, "page retirement"));
    found.retired_pages_single_bit += options.single_bit;
    found.retired_pages += options.double_bit;
    found.retired_pending = found.retired_pending || options.pending;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: {} pages retired{}\n", Label(now), now.retired_pages_single_bit + now.retired_pages,
                now.retired_pending ? ", one pending" : "");
}

Output LinkErrors(const Path& root, const std::string& gpu, unsigned link, const LinkErrorOptions& options) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    TESSERA_TRY(Require(link < found.links.size(), found, Format("NVLink {}", link)));
    found.links[link].replay_errors += options.replay;
    found.links[link].recovery_errors += options.recovery;
    found.links[link].crc_flit_errors += options.crc;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  const NvLink& counted = now.links[link];
  return Format("{}: NVLink {} counts {} replays, {} recoveries, {} CRC errors\n", Label(now), link,
                counted.replay_errors, counted.recovery_errors, counted.crc_flit_errors);
}

Output Slowdown(const Path& root, const std::string& gpu, const std::string& why) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const std::uint64_t reasons, Meaning(kSlowdowns, why));
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    for (const Word& word : kSlowdowns) found.clocks_event_reasons &= ~word.value;
    found.clocks_event_reasons |= reasons;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: clocks are {}\n", Label(now), reasons == 0 ? "as asked for" : "slowed down: " + why);
}

Output Load(const Path& root, const std::string& gpu, unsigned percent) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    found.utilization = percent;
    found.clocks_event_reasons &= ~abi::kClocksIdle;
    if (percent == 0) found.clocks_event_reasons |= abi::kClocksIdle;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: {} % busy\n", Label(now), percent);
}

Output Pcie(const Path& root, const std::string& gpu, std::optional<unsigned> generation,
            std::optional<unsigned> width) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  Model model;
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    model = machine.models.at(found.model);
    found.pcie_generation = generation.value_or(found.pcie_generation);
    found.pcie_width = width.value_or(found.pcie_width);
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: PCIe generation {} of {}, width {} of {}\n", Label(now),
                now.pcie_generation != 0 ? now.pcie_generation : model.pcie_generation, model.pcie_generation,
                now.pcie_width != 0 ? now.pcie_width : model.pcie_width, model.pcie_width);
}

Output SetFabric(const Path& root, const std::string& gpu, const FabricOptions& options) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    TESSERA_TRY(Require(machine.models.at(found.model).fabric, found, "fabric"));
    if (!found.fabric) found.fabric.emplace();
    found.fabric->state = options.state.value_or(found.fabric->state);
    found.fabric->status = options.status.value_or(found.fabric->status);
    found.fabric->health_mask = options.health_mask.value_or(found.fabric->health_mask);
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: fabric state {}, status {}, health mask {:#x}\n", Label(now), now.fabric->state,
                now.fabric->status, now.fabric->health_mask);
}

Output Advise(const Path& root, const std::string& gpu, const std::string& action) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const std::uint64_t number, Meaning(kRecoveryActions, action));
  bool changed = false;
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    changed = found.recovery_action != number;
    found.recovery_action = static_cast<unsigned>(number);
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  if (changed) {
    TESSERA_TRY(Emit(*store, now, abi::kEventRecoveryAction, number));
    TESSERA_TRY(Emit(*store, now, abi::kEventXidCritical, kXidRecoveryActionChanged));
  }
  return Format("{}: the driver advises: {}{}\n", Label(now), action, changed ? "" : ", as before");
}

Output Hang(const Path& root, const std::string& gpu, double seconds) {
  return AddFault(root, {.function = "*", .gpu = gpu, .hang_seconds = seconds});
}

}  // namespace tessera::sim::command
