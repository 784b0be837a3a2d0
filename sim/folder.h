// sim/folder.h: what a directory shall hold, and making it so.
//
// The files of a driver root are first described as a value and then compared with the disk, so that only what differs
// is touched and what became obsolete goes away, whatever a crash or an older simulator left behind.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace tessera::sim {

struct File {
  std::string content;
  mode_t mode = 0444;
};
struct Link {
  std::string target;
};
struct CharDevice {
  unsigned major = 0, minor = 0;
  mode_t mode = 0666;
};
struct Socket {};  // Nobody listens on it.

struct Folder {
  using Entry = std::variant<File, Link, CharDevice, Socket, Folder>;
  std::map<std::string, Entry> entries;
  // Entries whose names start with one of these belong to the simulator alone, and so does all below them: what is not
  // described is removed. {""} is everything.
  std::vector<std::string> owned;
  bool shared = false;  // Inside an owned folder: others may put things into this one.
};

// The folder at `path` ("proc/driver/nvidia") below `top`, added where it is missing. A path of ours: a component that
// is empty, "." or ".." is a bug.
Folder& SubFolder(Folder& top, std::string_view path);
// Adds an entry at `path`, and the folders on the way. The last one added at a path stays.
void Add(Folder& top, std::string_view path, Folder::Entry entry);

// What could not be done as described.
struct Shortfall {
  // Plain files stand where character devices should be: mknod(2) is not permitted, or the file system is mounted nodev.
  bool no_devices = false;
};

// Makes the directory `root` hold what `folder` says. `root` must exist; symbolic links below it are never followed,
// and where one stands in place of a folder that is not owned, that is an error. Each file is replaced by rename.
Result<Shortfall> Apply(const std::filesystem::path& root, const Folder& folder);

}  // namespace tessera::sim
