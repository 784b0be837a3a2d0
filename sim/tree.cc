#include "sim/tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "sim/folder.h"
#include "sim/tree_parts.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;

// ---- Names from the state become paths, so they must be what they claim to be.

bool IsHex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "0000:07:00.0"
bool IsBusId(std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3) return false;
  const auto function = Cut(parts[2], ".");
  return IsHex(parts[0], 4) && IsHex(parts[1], 2) && function && IsHex(function->first, 2) &&
         IsHex(function->second, 1);
}

// "pci0000:00"
bool IsRootComplex(std::string_view text) {
  if (!text.starts_with("pci")) return false;
  const auto parts = Cut(text.substr(3), ":");
  return parts && IsHex(parts->first, 4) && IsHex(parts->second, 2);
}

// "580.159.04"
bool IsVersion(std::string_view text) {
  return text.find('.') != std::string_view::npos && text.front() != '.' &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<void> Check(bool holds, std::string_view what, std::string_view found) {
  if (holds) return {};
  return BadConfig("BadMachine", Format("the simulated machine has {} {}", what, Quote(Clip(found, 60))));
}

Result<void> CheckNames(const Machine& machine) {
  TESSERA_TRY(Check(IsVersion(machine.driver_version), "the unusable driver version", machine.driver_version));
  for (const Gpu& gpu : machine.gpus) {
    TESSERA_TRY(Check(machine.models.contains(gpu.model), "a GPU of the unknown model", gpu.model));
    TESSERA_TRY(Check(IsBusId(gpu.bus_id), "a GPU at the unusable PCI address", gpu.bus_id));
    TESSERA_TRY(Check(IsRootComplex(gpu.pcie_root), "a GPU below the unusable PCI root", gpu.pcie_root));
    for (const std::string& bridge : gpu.bridges) {
      TESSERA_TRY(Check(IsBusId(bridge), "a bridge at the unusable PCI address", bridge));
    }
  }
  for (const NvSwitch& nvswitch : machine.switches) {
    TESSERA_TRY(Check(IsBusId(nvswitch.bus_id), "a switch at the unusable PCI address", nvswitch.bus_id));
    TESSERA_TRY(Check(IsRootComplex(nvswitch.pcie_root), "a switch below the unusable PCI root", nvswitch.pcie_root));
  }
  return {};
}

// A simulated tree must never become the machine's own, however its root is written.
Result<void> CheckRoot(const fs::path& root) {
  struct stat given{}, real{};
  if (::stat(root.c_str(), &given) != 0)
    return FromErrno(errno, "TreeUnwritable", "opening directory " + root.string());
  if (::stat("/", &real) == 0 && given.st_dev == real.st_dev && given.st_ino == real.st_ino) {
    return BadConfig("BadRoot", Format("{} is the root of this machine", Quote(root.string())),
                     "give the simulated driver a directory of its own");
  }
  return {};
}

Result<std::vector<std::string>> ApplyTo(const fs::path& root, const Folder& top) {
  TESSERA_ASSIGN(const Shortfall shortfall, Apply(root, top));
  std::vector<std::string> left_out;
  if (shortfall.no_devices) left_out.emplace_back("character devices: not permitted, plain files instead");
  return left_out;
}

void AddChanging(Folder& top, const Machine& machine) {
  AddDev(top, machine);
  AddProc(top, machine);
  AddSys(top, machine);
}

}  // namespace

Result<std::vector<std::string>> WriteTree(const fs::path& root, const Machine& machine, const TreeOptions& options) {
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return FromErrno(error.value(), "TreeUnwritable", "making directory " + root.string());
  TESSERA_TRY(CheckRoot(root));
  TESSERA_TRY(CheckNames(machine));
  const fs::path absolute = fs::canonical(root, error);
  if (error) return FromErrno(error.value(), "TreeUnwritable", "resolving " + root.string());

  Folder top;
  TESSERA_TRY(AddStatic(top, absolute, machine, options));
  AddChanging(top, machine);
  TESSERA_ASSIGN(auto left_out, ApplyTo(root, top));
  if (options.nvidia_smi.empty()) left_out.emplace_back("usr/bin/nvidia-smi: no stand-in was given");
  return left_out;
}

Result<std::vector<std::string>> SyncTree(const fs::path& root, const Machine& machine) {
  TESSERA_TRY(CheckRoot(root));
  TESSERA_TRY(CheckNames(machine));
  Folder top;
  AddChanging(top, machine);
  return ApplyTo(root, top);
}

Majors PickMajors(const fs::path& proc_devices) {
  std::set<unsigned> used;
  const std::string text = ReadFile(proc_devices).value_or("");
  bool characters = false;
  for (const std::string_view raw : Split(text, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.ends_with(':')) characters = line == "Character devices:";
    const auto number = Cut(line, " ");
    if (!characters || !number) continue;
    if (const auto major = ParseNumber<unsigned>(number->first)) used.insert(*major);
  }

  // Linux leaves 120-127 to local use and gives out the next two ranges from the top (devices.txt in its
  // documentation); it never registers one above 511.
  std::vector<unsigned> spare;
  for (unsigned major = 127; major >= 120; --major) spare.push_back(major);
  for (unsigned major = 254; major >= 234; --major) spare.push_back(major);
  for (unsigned major = 511; major >= 384; --major) spare.push_back(major);
  for (unsigned major = 512; major < 518; ++major) spare.push_back(major);

  Majors majors;
  unsigned* const wanted[] = {&majors.nvidia, &majors.uvm,  &majors.nvswitch,
                              &majors.nvlink, &majors.caps, &majors.imex};
  std::set<unsigned> taken = used;
  for (const unsigned* major : wanted) taken.insert(*major);
  for (unsigned* major : wanted) {
    if (!used.contains(*major)) continue;
    *major = *std::ranges::find_if(spare, [&](unsigned candidate) { return !taken.contains(candidate); });
    taken.insert(*major);
  }
  return majors;
}

}  // namespace tessera::sim
