// sim/mig.h: the MIG arithmetic of one GPU: which instances fit, where they go, what they are called.
//
// Pure functions on a Model's table and a Gpu's instances. The profiles (profile.h), the simulated library and
// tessera-sim all change instances through them, so that the three cannot disagree. A call that fails changes nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine.h"

namespace tessera::sim {

enum class MigError : std::uint8_t {
  kNotSupported,    // NVML 3: MIG is off, the board has none, or the instance cannot be cut that way.
  kInvalidProfile,  // NVML 2: no such profile id, or a start that the profile's table does not list.
  kNoRoom,          // NVML 23: taken, or all instances of the profile exist.
  kInUse,           // NVML 19
  kNotFound,        // NVML 6
};
int ToNvml(MigError error);
// "no free placement", for messages.
std::string_view ToString(MigError error);

// Rows of the model's table; null when it has none such. Numbers are what callers of NVML ask with, ids what it
// answers with (MigProfile).
const MigProfile* FindProfileById(const Model& model, unsigned id);
const MigProfile* FindProfileByNumber(const Model& model, unsigned number);
// By ProfileName() or by decimal id: "1g.18gb+me", "20".
const MigProfile* FindProfileByText(const Model& model, std::string_view text);

// "1g.18gb+me". The gigabytes are computed from the device's memory as NVIDIA's tools do, not read from the table.
std::string ProfileName(const Model& model, const MigProfile& profile);

// The memory slices that placements count: 8 on most boards, 4 on A30; 0 without MIG.
unsigned MemorySlices(const Model& model);

// Makes a GPU instance at `start`, or without one at the free placement that takes the fewest possibilities from
// others (so the first 1g goes to slice 6, not 0, as the real driver does it). Checks memory slices and compute slices.
// Needs MIG on. The id follows the size class: 7g 0; 4g and 3g 1, 2; 2g 3…6; 1g 7…14.
// The pointer is good until the next change of `gpu`.
std::expected<GpuInstance*, MigError> CreateGpuInstance(const Model& model, Gpu& gpu, unsigned profile_id,
                                                        std::optional<unsigned> start = std::nullopt);

// Makes a compute instance inside GPU instance `gi_id`: the lowest free id, the lowest free start unless one is given,
// the lowest free MIG index on the GPU. `ci_profile` is an NVML_COMPUTE_INSTANCE_PROFILE_* number, `uuid` the MIG
// device's "MIG-…".
std::expected<ComputeInstance*, MigError> CreateComputeInstance(const Model& model, Gpu& gpu, unsigned gi_id,
                                                                unsigned ci_profile, std::optional<unsigned> start,
                                                                std::string uuid);

// kInUse while it has compute instances or processes.
std::expected<void, MigError> DestroyGpuInstance(Gpu& gpu, unsigned gi_id);
// kInUse while processes run in it.
std::expected<void, MigError> DestroyComputeInstance(Gpu& gpu, unsigned gi_id, unsigned ci_id);

// How many more instances of the profile could be made now; the profile's maximum while MIG is off. 0 for an unknown
// id.
unsigned RemainingCapacity(const Model& model, const Gpu& gpu, unsigned profile_id);

// How a GPU instance of a profile can be cut into compute instances. Starts count compute slices inside the instance.
struct CiProfile {
  unsigned profile = 0;  // NVML_COMPUTE_INSTANCE_PROFILE_*; its id is the same number.
  unsigned slices = 0;
  unsigned instances = 0;
  unsigned multiprocessors = 0;
  std::vector<unsigned> starts;
  bool operator==(const CiProfile&) const = default;
};
std::vector<CiProfile> ComputeProfiles(const Model& model, const MigProfile& profile);

// A new MIG device's UUID, "MIG-xxxxxxxx-xxxx-…": always the same for the same machine and counter, and it takes the
// next one (Machine::next_uuid).
std::string NextMigUuid(Machine& machine);

// The UUID text of a hash of `seed`, "xxxxxxxx-xxxx-5xxx-…": the same seed, the same UUID.
std::string UuidFromSeed(std::string_view seed);

}  // namespace tessera::sim
