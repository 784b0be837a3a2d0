#include "tests/cli/nobody.h"

#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// The programs of the build and what they need, in a place that everybody may read: a clone may lie in somebody's home.
const fs::path& ReadableBuild() {
  static const TempDir build = [] {
    TempDir made = TempDir::Create("build").value();
    MakeReadable(made.path());
    for (const char* part : {"bin", "lib", "share"}) {
      const fs::path from = fs::path(TESSERA_BINARY_DIR) / part, to = made.path() / part;
      std::error_code other_disk;
      fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::create_hard_links, other_disk);
      if (other_disk) fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
    return made;
  }();
  return build.path();
}

}  // namespace

std::vector<std::string> AsNobody(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = kBecomeNobody;
  const std::string path = program.contains('/') ? program : (ReadableBuild() / "bin" / program).string();
  all.insert(all.end(), {"/usr/bin/env", "--chdir=/", path});
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

bool MayBeNobody() { return ::geteuid() == 0; }

void MakeReadable(const fs::path& directory) {
  fs::permissions(directory, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
}

fs::path MakeShared(const fs::path& directory) {
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::all | fs::perms::sticky_bit);
  return directory;
}

NobodysDir::NobodysDir() {
  if (::geteuid() == 0 && ::chown(path().c_str(), kNobody, kNobody) != 0) Abort("chown");
}

}  // namespace tessera::tests
