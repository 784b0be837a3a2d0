#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cmd/tessera-cdi-hook/confined_program.h"
#include "cmd/tessera-cdi-hook/hooks.h"
#include "cmd/tessera-cdi-hook/ld_conf.h"
#include "cmd/tessera-cdi-hook/state.h"

namespace tessera::hook {
namespace {

#if defined(__x86_64__)
#define TESSERA_MACHINE "x86_64"
#elif defined(__aarch64__)
#define TESSERA_MACHINE "aarch64"
#else
#error "NVIDIA's driver exists for x86_64 and aarch64"
#endif

constexpr const char* kMuslPath = "/etc/ld-musl-" TESSERA_MACHINE ".path";
constexpr std::size_t kMaxMuslPath = std::size_t{64} << 10;

// Where the container's own loader looks without being told. The host's ldconfig may have others built in, so they are
// written down.
std::vector<std::string> SystemFolders(const ContainerRoot& root) {
  if (root.HasFile("/etc/debian_version")) {
    return {"/lib/" TESSERA_MACHINE "-linux-gnu", "/usr/lib/" TESSERA_MACHINE "-linux-gnu", "/lib", "/usr/lib"};
  }
  std::vector<std::string> folders{"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
#if defined(__x86_64__)
  folders.insert(folders.end(), {"/libx32", "/usr/libx32"});
#endif
  return folders;
}

// musl reads no cache but this list, and where there is one it is the whole list: its own defaults come first.
Result<void> AddToMuslPath(const ContainerRoot& root, std::span<const std::string> folders) {
  TESSERA_ASSIGN(const std::optional<std::string> found, root.ReadFile(kMuslPath, kMaxMuslPath));
  std::string text = found.value_or("/lib\n/usr/local/lib\n/usr/lib\n");
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  std::string separated = text;
  std::ranges::replace(separated, ':', '\n');
  const std::vector<std::string_view> present = Split(separated, '\n');
  const std::size_t before = text.size();
  for (const std::string& folder : folders) {
    if (std::ranges::find(present, folder) == present.end()) text += folder + "\n";
  }
  if (found && text.size() == before) return {};
  return root.PutFile(kMuslPath, text, 0644);
}

Result<void> Configure(const ContainerRoot& root, const std::vector<std::string>& wanted) {
  const std::vector<std::string> system = SystemFolders(root);
  TESSERA_TRY(EnsureLdConf(root));
  TESSERA_ASSIGN(std::set<std::string> listed, ListedFolders(root));
  listed.insert(system.begin(), system.end());
  std::vector<std::string> missing;
  for (const std::string& folder : wanted) {
    if (listed.insert(folder).second) missing.push_back(folder);
  }
  TESSERA_TRY(AddFolders(root, "00-nvcr", missing));
  TESSERA_TRY(AddFolders(root, "zz-nvcr", system));
  if (!root.HasFile("/etc/alpine-release")) return {};
  std::vector<std::string> all = wanted;
  all.insert(all.end(), system.begin(), system.end());
  return AddToMuslPath(root, all);
}

}  // namespace

Result<void> UpdateLdcache(Arguments arguments) {
  std::vector<std::string> folders;
  std::string ldconfig = "/sbin/ldconfig";
  TESSERA_TRY(
      ParseFlags(arguments, {{.name = "--folder", .all = &folders}, {.name = "--ldconfig-path", .last = &ldconfig}}));
  for (const std::string& folder : folders) TESSERA_TRY(CheckFolder(folder));
  TESSERA_ASSIGN(const ContainerRoot root, RootFromState());
  // Ubuntu's ldconfig is a script around this one.
  if (const std::string real = ldconfig + ".real"; ::access(real.c_str(), X_OK) == 0) ldconfig = real;
  TESSERA_ASSIGN(const UniqueFd program, SealProgram(ldconfig));
  constexpr const char* kArguments[] = {"ldconfig", "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache"};
  return RunConfined(root, program.get(), kArguments,
                     [&](const ContainerRoot& inside) { return Configure(inside, folders); });
}

}  // namespace tessera::hook
