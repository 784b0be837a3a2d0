// sim/profile.h: machines described in YAML.
//
// A model file (sim/models/NAME.yaml) holds the facts of one board; a profile (sim/profiles/NAME.yaml) says which
// boards a machine has and where they sit. A profile stays short: what can be derived (UUIDs, serial numbers, NVLink
// wiring through switches, PCI bridges) is derived, always the same way, so that golden files stay golden.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/machine.h"

namespace tessera::sim {

// Where models/ and profiles/ are: $TESSERA_SIM_DATA, or beside the running program (../share/tessera/sim).
Result<std::filesystem::path> DataDir();

// The profiles in `data`, sorted, each with its one-line description.
struct ProfileInfo {
  std::string name, description;
};
Result<std::vector<ProfileInfo>> ListProfiles(const std::filesystem::path& data);

// A machine from a profile: a name in `data`, or a path to a file (it contains a '/' or ends in .yaml).
Result<Machine> LoadProfile(const std::filesystem::path& data, const std::string& name_or_path);

// The boards in `data`, sorted: what a profile's `model` may be.
Result<std::vector<std::string>> ListModels(const std::filesystem::path& data);
Result<Model> LoadModel(const std::filesystem::path& data, const std::string& name);

// The text of a new profile: `count` boards of `model`, wired as such boards usually are.
Result<std::string> NewProfile(const std::filesystem::path& data, const std::string& model, unsigned count);

}  // namespace tessera::sim
