#include "tests/cli/nobody.h"

#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

}  // namespace

std::vector<std::string> AsNobody(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"--reuid=65534", "--regid=65534", "--clear-groups",
                               program.contains('/') ? program : TESSERA_BINARY_DIR "/bin/" + program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

// setpriv itself can start what nobody may not see, so this asks a program that nobody is when it looks.
bool MayBeNobody() {
  const auto looks = AsNobody("/usr/bin/test", {"-r", TESSERA_BINARY_DIR "/bin/tessera"});
  return ::geteuid() == 0 && RunProgram(kSetpriv, looks).code == 0;
}

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
