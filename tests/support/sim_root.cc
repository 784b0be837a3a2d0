#include "tests/support/sim_root.h"

#include <algorithm>
#include <span>

#include "sim/elf.h"
#include "sim/profile.h"
#include "sim/tree.h"
#include "tests/support/must.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

constexpr const char* kData = TESSERA_SOURCE_DIR "/sim";
constexpr const char* kLibrary = TESSERA_BINARY_DIR "/lib/tessera/sim/libnvidia-ml.so.1";
constexpr const char* kNvidiaSmi = TESSERA_BINARY_DIR "/lib/tessera/sim/nvidia-smi";

}  // namespace

SimRoot::SimRoot(const std::string& profile, const std::function<void(sim::Machine&)>& change)
    : dir_(Must(TempDir::Create("tessera-test"))) {
  sim::Machine machine = Must(sim::LoadProfile(kData, profile));
  machine.majors = sim::PickMajors();
  if (change) change(machine);
  Must(sim::WriteTree(path(), machine, {kLibrary, kNvidiaSmi}));
  store_ = Must(sim::Store::Create(path(), machine));
}

void SimRoot::Update(const std::function<void(sim::Machine&)>& change) {
  Must(store_->Update([&](sim::Machine& machine) -> Result<void> {
    change(machine);
    return {};
  }));
}

Result<void> HideFunction(const std::filesystem::path& root, const std::string& function) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "usr/lib")) {
    if (!entry.is_regular_file() || !entry.path().filename().string().starts_with("libnvidia-ml.so.")) continue;
    constexpr std::size_t kMost = std::size_t{256} << 20;  // Sanitizers make it large.
    TESSERA_ASSIGN(std::string image, ReadFile(entry.path(), kMost));
    TESSERA_ASSIGN(const std::vector<std::string> symbols, sim::DynamicSymbols(image));
    if (std::ranges::find(symbols, function) == symbols.end()) return {};  // Already older than that.
    TESSERA_TRY(sim::HideSymbols(image, std::span(&function, 1)));
    return ReplaceFile(entry.path(), image, 0755);
  }
  return BadConfig("NoLibrary", "no libnvidia-ml below " + root.string());
}

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const sim::ProfileInfo& profile : Must(sim::ListProfiles(kData))) names.push_back(profile.name);
  return names;
}

}  // namespace tessera::tests
