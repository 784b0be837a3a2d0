#include "driver/hook_file.h"

#include "base/fd.h"
#include "base/text.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHook = "tessera-cdi-hook";

}  // namespace

Result<std::string> InstallHook(const std::string& given, const fs::path& directory) {
  if (!given.empty()) return given;
  std::error_code error;
  const fs::path source = fs::read_symlink("/proc/self/exe", error).parent_path() / kHook;
  const auto program = ReadFile(source);
  if (!program) {
    return BadConfig("NoHook", Format("the CDI hook program cannot be read: {}", program.error().message()),
                     Format("install {} beside this program, or name another with --nvidia-cdi-hook-path", kHook));
  }
  const fs::path target = directory / kHook;
  const auto there = ReadFile(target);
  if (there && *there == *program &&
      (fs::status(target, error).permissions() & fs::perms::others_exec) != fs::perms::none) {
    return target.string();
  }
  auto copied = ReplaceFileDurably(target, *program, 0755);  // Two instances write the same bytes.
  if (!copied && !there) return std::unexpected(std::move(copied).error().Wrap("installing the CDI hook program"));
  return target.string();  // On a full disk the one that is there still serves.
}

}  // namespace tessera::driver
