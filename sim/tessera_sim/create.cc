#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "sim/profile.h"
#include "sim/tessera_sim/commands.h"
#include "sim/tree.h"

namespace tessera::sim::command {
namespace {

namespace fs = std::filesystem;

// Left in the state of a root that was empty when we came: all of it is ours, and may be removed.
constexpr std::string_view kOwned = "owns-root";

// By inode: "/" has many spellings.
bool IsSystemRoot(const Path& root) {
  struct stat system{}, wanted{};
  return ::stat("/", &system) == 0 && ::stat(root.c_str(), &wanted) == 0 && system.st_dev == wanted.st_dev &&
         system.st_ino == wanted.st_ino;
}

// A path as mountinfo spells it.
std::string MountSpelling(const std::string& path) {
  std::string text;
  for (const char c : path) {
    text += c == ' ' || c == '\t' || c == '\n' || c == '\\' ? Format("\\{:03o}", static_cast<unsigned>(c))
                                                            : std::string(1, c);
  }
  return text;
}

// A mount point below `root`, if any: emptying the root would empty what is mounted there.
Result<std::optional<std::string>> MountBelow(const Path& root) {
  TESSERA_ASSIGN(const std::string mounts, ReadFile("/proc/self/mountinfo"));
  const std::string prefix = MountSpelling(root.string()) + "/";
  for (const std::string_view line : Split(mounts, '\n')) {
    const auto fields = Split(line, ' ');
    if (fields.size() > 4 && fields[4].starts_with(prefix)) return std::string(fields[4]);
  }
  return std::nullopt;
}

// Everything but var/, where the state is: programs that have it open follow it to the new machine.
Result<void> EmptyRoot(const Path& root) {
  TESSERA_ASSIGN(const auto mount, MountBelow(root));
  if (mount) {
    return BadConfig("RootInUse", Format("{} is mounted inside the driver root", *mount), "unmount it first");
  }
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != "var") fs::remove_all(entry->path(), error);
    if (error) break;
  }
  if (error) return FromErrno(error.value(), "CannotWriteRoot", Format("emptying {}", root.string()));
  return {};
}

struct Root {
  Path path;  // Absolute, without symbolic links.
  bool owned = false;
};

Result<Root> PrepareRoot(const Path& wanted, bool force) {
  std::error_code error;
  fs::create_directories(wanted, error);
  Root root;
  if (!error) root.path = fs::canonical(wanted, error);
  if (error) return FromErrno(error.value(), "CannotWriteRoot", Format("making {}", wanted.string()));
  if (IsSystemRoot(root.path)) {
    return BadConfig("RefusedRoot", "a simulated driver is never written over /", "name a directory of its own");
  }
  const bool simulator = IsSimulatorRoot(root.path);
  root.owned = simulator ? fs::exists(root.path / kStateDir / kOwned, error) : fs::is_empty(root.path, error);
  if (simulator && root.owned) {
    TESSERA_TRY(EmptyRoot(root.path));
  } else if (!simulator && !root.owned && !force) {
    return BadConfig("RefusedRoot", Format("{} has something in it, and it is no simulator root", root.path.string()),
                     "name an empty directory, or use --force to write into this one");
  }
  return root;
}

// Our own files lie beside the program: bin/tessera-sim, lib/tessera/sim/….
Result<TreeOptions> FindFiles() {
  std::error_code error;
  const Path program = fs::read_symlink("/proc/self/exe", error);
  const Path dir = program.parent_path().parent_path() / "lib/tessera/sim";
  TreeOptions options;
  options.library = dir / "libnvidia-ml.so.1";
  if (error || !fs::exists(options.library, error)) {
    return BadConfig("NoSimLibrary", Format("{} is missing", options.library.string()),
                     "run tessera-sim from where it was installed or built");
  }
  if (fs::exists(dir / "nvidia-smi", error)) options.nvidia_smi = dir / "nvidia-smi";
  return options;
}

}  // namespace

Output Create(const Path& root, const std::string& profile, bool force, bool quiet) {
  TESSERA_ASSIGN(const Path data, DataDir());
  TESSERA_ASSIGN(Machine machine, LoadProfile(data, profile));
  TESSERA_ASSIGN(const TreeOptions files, FindFiles());
  TESSERA_ASSIGN(const Root ready, PrepareRoot(root, force));
  machine.majors = PickMajors();
  TESSERA_ASSIGN(const auto left_out, WriteTree(ready.path, machine, files));
  TESSERA_TRY(Store::Create(ready.path, machine));
  if (ready.owned) TESSERA_TRY(ReplaceFile(ready.path / kStateDir / kOwned, ""));
  std::string text;
  if (!quiet) {
    text = Format("{}: {}, GPUs: {}, driver: {}\n", ready.path.string(), machine.profile, machine.gpus.size(),
                  machine.driver_version);
  }
  for (const std::string& line : left_out) text += line + "\n";
  return text;
}

Output Profiles() {
  TESSERA_ASSIGN(const Path data, DataDir());
  TESSERA_ASSIGN(const auto profiles, ListProfiles(data));
  std::string text;
  for (const ProfileInfo& profile : profiles) text += Format("{:<18} {}\n", profile.name, profile.description);
  return text;
}

Output Models() {
  TESSERA_ASSIGN(const Path data, DataDir());
  TESSERA_ASSIGN(const auto names, ListModels(data));
  std::string text;
  for (const std::string& name : names) {
    TESSERA_ASSIGN(const Model model, LoadModel(data, name));
    text += Format("{:<18} {}, {} MiB, compute capability {}.{}{}\n", name, model.name, model.memory_bytes >> 20,
                   model.cc_major, model.cc_minor, model.mig.empty() ? "" : ", MIG");
  }
  return text;
}

Output NewProfileText(const std::string& model, unsigned count) {
  TESSERA_ASSIGN(const Path data, DataDir());
  return NewProfile(data, model, count);
}

Output Show(const Path& root, bool models) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const auto machine, store->Read());
  json::Value value = json::Encode(*machine);
  if (!models) value.as_object().erase("models");
  return json::PrintYaml(value);
}

}  // namespace tessera::sim::command
