// journal/checkpoint.h: the Go driver's checkpoint.json, read in every variant and written so that it can go back.
//
// Its checksum is taken over a re-marshalled struct, so harmless changes of a release make it refuse its own files.
// We read the values and do not believe the checksum; what we write has both checksums as its HEAD computes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"

namespace tessera::journal {

// A claim that a version of ours cannot undo: it uses MPS, time-slicing or VFIO, or its record cannot be read. Dynamic
// MIG looks like static MIG in a record, and counts as that.
struct Unserved {
  api::ClaimRef claim;  // Namespace and name may be empty: completed records do not keep them.
  std::string what;     // "MPS control daemon 6f…-a1b2c", for messages.
};

struct Checkpoint {
  std::string boot_id;                     // Empty before v0.4.0.
  std::vector<api::PreparedClaim> claims;  // origin "go"; `adopted` holds each record as it was.
  std::vector<Unserved> unserved;          // Not among `claims`.
  bool checksum_matches = false;           // For the log only.
};

// `v1` alone (v25.3), `v1`+`v2` (v25.8.1 to HEAD), MIG records with `info` or `concrete`, with and without boot id.
//
// Hardware is as complete as the record is. Up to v25.8.1 a MIG device has only its own UUID, minor and placement, and a
// claim that was merely begun only what the names say: there `gpu_uuid` is empty, for the caller to look up.
Result<Checkpoint> ReadCheckpoint(std::string_view text);

// What the Go driver's HEAD writes for these claims. Adopted records go back as they came.
std::string WriteCheckpoint(const std::vector<api::PreparedClaim>& claims, const std::string& boot_id);

}  // namespace tessera::journal
