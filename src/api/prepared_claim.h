// api/prepared_claim.h: what a claim was given on this node. The journal keeps it, CDI files are made of it, the
// kubelet is answered with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace tessera::api {

// A ResourceClaim by name, and which object of that name.
struct ClaimRef {
  std::string namespace_name, name, uid;

  bool operator==(const ClaimRef&) const = default;
};

// Whether it is safe in file names and CDI names: letters, digits and dashes, 1 to 63 of them, no dash at the ends.
bool IsClaimUid(std::string_view text);

// "namespace/name", for people.
std::string ToText(const ClaimRef& claim);

// A MIG device by what does not change when its name does.
struct MigHardware {
  std::string uuid;
  unsigned gpu_instance = 0, compute_instance = 0;
  std::string profile;
  unsigned placement_start = 0, placement_size = 0;  // Memory slices. Size 0: not known, so it overlaps with all.

  bool operator==(const MigHardware&) const = default;
};

// The hardware behind a device.
struct Hardware {
  std::string gpu_uuid;  // Of the GPU, or of the MIG device's parent.
  std::string bus_id;    // "0000:3b:00.0"; may be empty.
  std::optional<unsigned> gpu_minor;
  std::optional<MigHardware> mig;

  bool operator==(const Hardware&) const = default;
};

// Whether both need the same part of a GPU: the same one, a GPU and its MIG device, MIG devices whose placements
// overlap, compute instances of one GPU instance that are the same.
bool Overlap(const Hardware& a, const Hardware& b);

struct PreparedDevice {
  std::vector<std::string> requests;  // Main names, without "/sub".
  std::string pool, name;
  bool admin_access = false;
  std::optional<std::string> share_id;
  Hardware hardware;
  std::vector<std::string> cdi_ids;

  bool operator==(const PreparedDevice&) const = default;
};

enum class ClaimState : std::uint8_t {
  kStarted,    // May be half done: is finished or undone.
  kCompleted,  // The kubelet was, or can be, told.
};
bool FromText(std::string_view text, ClaimState& state);  // "started", "completed"
std::string ToText(ClaimState state);

// The `tessera run` that has a claim, in place of a pod.
struct LocalRun {
  std::int64_t pid = 0;            // For messages; a lease tells whether it lives.
  std::string runtime, container;  // Of its container, which may outlive it; empty: none.

  bool operator==(const LocalRun&) const = default;
};

struct PreparedClaim {
  ClaimRef claim;
  ClaimState state = ClaimState::kStarted;
  std::string boot_id;            // Of the boot it was prepared in: files on tmpfs and device state are gone after it.
  std::vector<std::string> pods;  // "namespace/name" of those it is reserved for; for messages.
  std::vector<PreparedDevice> devices;
  json::Value allocation;  // status.allocation as the API server gave it, for the way back to the Go driver.
  std::string origin;      // Empty: ours. "go": adopted from the Go driver's checkpoint. "rebuilt": from CDI files.
  json::Value adopted;     // The Go driver's own record, kept as it was. Null when it is not its.
  std::optional<LocalRun> run;  // Absent: the kubelet asked for it.

  bool operator==(const PreparedClaim&) const = default;
};

template <class F>
void Describe(F& f, ClaimRef& c) {
  f.Required("namespace", c.namespace_name);
  f.Required("name", c.name);
  f.Required("uid", c.uid);
}

template <class F>
void Describe(F& f, MigHardware& m) {
  f.Required("uuid", m.uuid);
  f.Required("gpuInstance", m.gpu_instance);
  f.Required("computeInstance", m.compute_instance);
  f.Optional("profile", m.profile);
  f.Optional("placementStart", m.placement_start);
  f.Optional("placementSize", m.placement_size);
}

template <class F>
void Describe(F& f, Hardware& h) {
  f.Required("gpuUUID", h.gpu_uuid);
  f.Optional("busID", h.bus_id);
  f.Optional("gpuMinor", h.gpu_minor);
  f.Optional("mig", h.mig);
}

template <class F>
void Describe(F& f, PreparedDevice& d) {
  f.Optional("requests", d.requests);
  f.Required("pool", d.pool);
  f.Required("name", d.name);
  f.Optional("adminAccess", d.admin_access);
  f.Optional("shareID", d.share_id);
  f.Required("hardware", d.hardware);
  f.Optional("cdiIDs", d.cdi_ids);
}

template <class F>
void Describe(F& f, LocalRun& r) {
  f.Required("pid", r.pid);
  f.Optional("runtime", r.runtime);
  f.Optional("container", r.container);
}

template <class F>
void Describe(F& f, PreparedClaim& c) {
  f.Required("claim", c.claim);
  f.Required("state", c.state);
  f.Optional("bootID", c.boot_id);
  f.Optional("pods", c.pods);
  f.Optional("devices", c.devices);
  f.Optional("allocation", c.allocation);
  f.Optional("origin", c.origin);
  f.Optional("adopted", c.adopted);
  f.Optional("run", c.run);
}

}  // namespace tessera::api
