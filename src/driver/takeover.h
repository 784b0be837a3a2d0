// driver/takeover.h: living next to, coming after and going back to the Go driver of the same name.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "journal/journal.h"
#include "journal/leases.h"

namespace tessera::driver {

// A process that serves our driver name and is not one of ours.
struct OtherDriver {
  std::filesystem::path socket;
  std::string endpoint;
};

// Looks through the registration sockets of this driver name. Ours are those whose instance lease is held; `own` is
// left out. Instances of ours that have sockets of their own may run beside us.
std::optional<OtherDriver> FindOtherDriver(const std::filesystem::path& registry, std::string_view driver_name,
                                           const std::filesystem::path& own, journal::Leases& leases);
// The lease that an instance of ours holds for as long as it lives.
std::string InstanceLease(const std::filesystem::path& registration_socket);

// The Go driver takes pu.lock around each prepare. Held shared, it keeps the Go driver from preparing while instances of
// ours live, and not these from each other. Nothing when the Go driver is just preparing something.
Result<std::optional<UniqueFd>> HoldGoLock(const std::filesystem::path& directory);

struct Adoption {
  std::size_t adopted = 0;    // Claims that came from the checkpoint.
  std::size_t forgotten = 0;  // Claims of ours that the Go driver unprepared meanwhile.
};

// MIG devices that the Go driver makes when a claim comes, and removes with it (its gate DynamicMIG), by name, as this
// node's slices offer them. Nothing when there are no slices: then nobody can tell.
using MigOnDemand = std::optional<std::set<std::string>>;

// checkpoint.json of the Go driver, when it wrote it last. Its claims become ours; what it unprepared is forgotten. Of
// another boot it holds nothing that is true. Refused as a whole, by name, when a claim in it uses what we cannot undo
// ("UnservedClaims"). A record does not tell on demand from other MIG: where a claim has MIG, `mig_on_demand` is asked,
// nothing is taken while it fails, and what it says of refused claims is kept on disk. A checkpoint that cannot be read
// is moved to checkpoint.json.quarantine, and that is the error "BadCheckpoint": we go on without it.
Result<Adoption> AdoptCheckpoint(const std::filesystem::path& directory, journal::Journal& journal,
                                 const std::string& boot_id, const std::function<Result<MigOnDemand>()>& mig_on_demand);

// Writes a checkpoint that the Go driver can go on from, unless the one there says the same. It has the form of the
// release that wrote the last one, or of its newest where none did.
Result<void> KeepCheckpoint(const std::filesystem::path& directory, journal::Journal& journal,
                            const std::string& boot_id);

}  // namespace tessera::driver
