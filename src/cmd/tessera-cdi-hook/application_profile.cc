#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/text.h"
#include "cmd/tessera-cdi-hook/hooks.h"
#include "cmd/tessera-cdi-hook/state.h"

namespace tessera::hook {
namespace {

constexpr const char* kDirectory = "/etc/nvidia/nvidia-application-profiles-rc.d";

bool IsGpuNode(std::string_view name) {
  if (!name.starts_with("nvidia") || name.size() == 6) return false;
  return std::ranges::all_of(name.substr(6), [](char c) { return c >= '0' && c <= '9'; });
}

// One bit a GPU, by the minor of its node. The driver's mask has 64.
Result<std::uint64_t> VisibleGpus(const ContainerRoot& root) {
  TESSERA_ASSIGN(const std::vector<std::string> names, root.List("/dev"));
  std::uint64_t mask = 0;
  for (const std::string& name : names) {
    if (!IsGpuNode(name)) continue;
    const UniqueFd node = root.Resolve("/dev/" + name, O_NOFOLLOW);
    struct stat status{};
    if (!node || ::fstat(node.get(), &status) != 0 || !S_ISCHR(status.st_mode)) continue;
    if (const unsigned number = minor(status.st_rdev); number < 64) mask |= std::uint64_t{1} << number;
  }
  return mask;
}

}  // namespace

Result<void> UpdateApplicationProfile(Arguments arguments) {
  TESSERA_TRY(ParseFlags(arguments, {}));
  TESSERA_ASSIGN(const ContainerRoot root, WritableRootFromState());
  TESSERA_ASSIGN(const std::uint64_t mask, VisibleGpus(root));
  if (mask == 0) return {};
  TESSERA_TRY(root.MakeDirectory(kDirectory, 0555));
  // Almost JSON: the driver's parser wants the mask as a hexadecimal literal.
  const std::string profile =
      Format(R"({{"profiles":[{{"name":"_container_","settings":["EGLVisibleDGPUDevices",{:#x}]}}],)"
             R"("rules":[{{"pattern":[],"profile":"_container_"}}]}})",
             mask);
  return root.PutFile(std::string(kDirectory) + "/10-container.conf", profile, 0444);
}

}  // namespace tessera::hook
