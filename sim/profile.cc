#include "sim/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "sim/profile_build.h"
#include "sim/profile_format.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;

// The only document of a YAML file, as a struct. Errors name the file.
template <class T>
Result<T> LoadYaml(const fs::path& path) {
  TESSERA_ASSIGN(const std::string text, ReadFile(path));
  auto documents = json::ParseYaml(text);
  if (!documents) return std::unexpected(std::move(documents).error().Wrap(path.string()));
  if (documents->size() != 1) {
    return BadConfig("BadSimProfile",
                     Format("{}: holds {} YAML documents, one is wanted", path.string(), documents->size()));
  }
  auto decoded = json::Decode<T>(documents->front());
  if (!decoded) return std::unexpected(std::move(decoded).error().Wrap(path.string()));
  return std::move(*decoded);
}

// The names of the *.yaml files in a directory, sorted, without the ending.
Result<std::vector<std::string>> YamlNames(const fs::path& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem());
  }
  if (error) return FromErrno(error.value(), "BadSimData", Format("listing {}", dir.string()));
  std::ranges::sort(names);
  return names;
}

// `name` is not among `known`: says what is, and what was probably meant.
std::unexpected<Error> NoSuch(std::string_view what, const std::string& name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  std::string message = Format("there is no {} {}", what, Quote(name));
  if (const auto near = NearMatch(name, candidates)) message += Format("; did you mean {}?", Quote(*near));
  return BadConfig("UnknownSimName", std::move(message), Format("known: {}", Join(known, ", ")));
}

bool IsPath(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".yaml"); }

// Where a profile's file is, and that it is there.
Result<fs::path> FindProfile(const fs::path& data, const std::string& name_or_path) {
  if (IsPath(name_or_path)) return fs::path(name_or_path);
  TESSERA_ASSIGN(const auto known, YamlNames(data / "profiles"));
  if (std::ranges::find(known, name_or_path) == known.end()) return NoSuch("profile", name_or_path, known);
  return data / "profiles" / (name_or_path + ".yaml");
}

Result<std::map<std::string, Model>> LoadModels(const fs::path& data, const ProfileText& profile) {
  std::map<std::string, Model> models;
  for (const GpuText& gpu : profile.gpus) {
    if (models.contains(gpu.model)) continue;
    TESSERA_ASSIGN(models[gpu.model], LoadModel(data, gpu.model));
  }
  return models;
}

}  // namespace

Result<fs::path> DataDir() {
  if (const char* dir = std::getenv("TESSERA_SIM_DATA"); dir != nullptr && *dir != '\0') return fs::path(dir);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path dir = program.parent_path().parent_path() / "share/tessera/sim";
  if (error || !fs::is_directory(dir, error)) {
    return BadConfig("NoSimData", Format("the simulator's models and profiles are not in {}", dir.string()),
                     "set TESSERA_SIM_DATA to the directory that holds models/ and profiles/");
  }
  return dir;
}

Result<std::vector<ProfileInfo>> ListProfiles(const fs::path& data) {
  TESSERA_ASSIGN(const auto names, YamlNames(data / "profiles"));
  std::vector<ProfileInfo> profiles;
  for (const std::string& name : names) {
    TESSERA_ASSIGN(const ProfileText text, LoadYaml<ProfileText>(data / "profiles" / (name + ".yaml")));
    profiles.push_back({name, text.description});
  }
  return profiles;
}

Result<std::vector<std::string>> ListModels(const fs::path& data) { return YamlNames(data / "models"); }

Result<Model> LoadModel(const fs::path& data, const std::string& name) {
  TESSERA_ASSIGN(const auto known, ListModels(data));
  if (std::ranges::find(known, name) == known.end()) return NoSuch("GPU model", name, known);
  return LoadYaml<Model>(data / "models" / (name + ".yaml"));
}

Result<Machine> LoadProfile(const fs::path& data, const std::string& name_or_path) {
  TESSERA_ASSIGN(const fs::path path, FindProfile(data, name_or_path));
  TESSERA_ASSIGN(const ProfileText text, LoadYaml<ProfileText>(path));
  auto models = LoadModels(data, text);
  if (!models) return std::unexpected(std::move(models).error().Wrap(path.string()));
  auto machine = BuildMachine(path.stem(), text, std::move(*models));
  if (!machine) return std::unexpected(std::move(machine).error().Wrap(path.string()));
  return std::move(*machine);
}

}  // namespace tessera::sim
