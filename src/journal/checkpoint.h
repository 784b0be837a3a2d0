// journal/checkpoint.h: the Go driver's checkpoint.json, read in every variant and written so that it can go back.
//
// Its checksum is taken over a re-marshalled struct, so harmless changes of a release make it refuse the files of others.
// We read the values and do not believe the checksum; what we write is in the form of one release, with its checksums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"

namespace tessera::journal {

// A claim that a version of ours cannot undo: it uses MPS, time-slicing or VFIO, or its record cannot be read. MIG
// devices that were made on demand look like others in a record: driver/takeover.h tells them apart.
struct Unserved {
  api::ClaimRef claim;  // Namespace and name may be empty: completed records do not keep them.
  std::string what;     // "MPS control daemon 6f…-a1b2c", for messages.
};

// Releases whose files differ, the oldest first. Each starts only with a file that it could have written itself.
enum class GoRelease : std::uint8_t {
  kV25_3,   // Completed claims only (v1).
  kV25_8,   // All claims (v2).
  kV25_12,  // MIG devices by their parts, and not by UUID alone; names of claims that are merely begun.
  kV0_4,    // The boot id.
  kHead,    // August 2026: nothing where no MPS daemon is.
};
bool FromText(std::string_view text, GoRelease& release);  // "v25.3", "v25.8", "v25.12", "v0.4", "head"
std::string ToText(GoRelease release);

struct Checkpoint {
  std::string boot_id;                     // Empty before v0.4.0.
  std::vector<api::PreparedClaim> claims;  // origin "go"; `adopted` holds each record as it was.
  std::vector<Unserved> unserved;          // Not among `claims`.
  bool checksum_matches = false;           // For the log only.
  GoRelease release = GoRelease::kHead;    // That wrote it. Without claims v25.8 looks like v25.12, and v0.4 like HEAD.
};

// `v1` alone (v25.3), `v1`+`v2` (v25.8.1 to HEAD), MIG records with `info` or `concrete`, with and without boot id.
//
// Hardware is as complete as the record is. Up to v25.8.1 a MIG device has only its own UUID, minor and placement, and a
// claim that was merely begun only what the names say: there `gpu_uuid` is empty, for the caller to look up.
Result<Checkpoint> ReadCheckpoint(std::string_view text);

// What this release writes for these claims. Adopted records go back as they came.
std::string WriteCheckpoint(const std::vector<api::PreparedClaim>& claims, const std::string& boot_id,
                            GoRelease release);

}  // namespace tessera::journal
