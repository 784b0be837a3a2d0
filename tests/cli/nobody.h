// tests/cli/nobody.h: programs as an ordinary user, for tests that run as root.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"

namespace tessera::tests {

inline const std::string kSetpriv = "/usr/bin/setpriv";  // Of util-linux, which every Debian has.

inline const std::vector<std::string> kBecomeNobody{"--reuid=65534", "--regid=65534", "--clear-groups"};  // Its flags.

// Arguments of kSetpriv that run a program of the build, or one with a path, as nobody, in the root directory: nobody may not
// see the one we are in.
std::vector<std::string> AsNobody(const std::string& program, const std::vector<std::string>& arguments);

// Whether that works here: it takes root.
bool MayBeNobody();

// Temporary directories are their owner's alone; lets others look into this one.
void MakeReadable(const std::filesystem::path& directory);

// A new directory in which everybody may make files, as in /tmp and /dev/shm.
std::filesystem::path MakeShared(const std::filesystem::path& directory);

// A directory of nobody's.
class NobodysDir {
 public:
  NobodysDir();
  const std::filesystem::path& path() const { return dir_.path(); }

 private:
  const TempDir dir_ = TempDir::Create("nobody").value();
};

}  // namespace tessera::tests
