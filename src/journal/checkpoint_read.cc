// Every lookup below is lenient: the file is another program's, of whatever version, and a claim that cannot be read is
// named instead of lost.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "journal/checkpoint.h"
#include "journal/go_json.h"
#include "journal/go_names.h"

namespace tessera::journal {
namespace {

constexpr std::string_view kDriver = "gpu.nvidia.com";

// ---- Looking into JSON whose shape nobody promised.

const json::Value& Null() {
  static const json::Value null;
  return null;
}

const json::Value& At(const json::Value& value, std::string_view key) {
  const json::Object* object = value.if_object();
  const json::Value* found = object == nullptr ? nullptr : object->if_contains(key);
  return found == nullptr ? Null() : *found;
}

template <class... Keys>
const json::Value& At(const json::Value& value, std::string_view key, Keys... keys) {
  return At(At(value, key), keys...);
}

std::string TextAt(const json::Value& value, std::string_view key) {
  const json::String* text = At(value, key).if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

const json::Array& ListAt(const json::Value& value, std::string_view key) {
  static const json::Array kNone;
  const json::Array* list = At(value, key).if_array();
  return list == nullptr ? kNone : *list;
}

std::vector<std::string> TextsAt(const json::Value& value, std::string_view key) {
  std::vector<std::string> texts;
  for (const json::Value& item : ListAt(value, key)) {
    if (item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

std::optional<unsigned> NumberAt(const json::Value& value, std::string_view key) {
  const std::int64_t* number = At(value, key).if_int64();
  if (number == nullptr || !std::in_range<unsigned>(*number)) return std::nullopt;
  return static_cast<unsigned>(*number);
}

bool IsTrue(const json::Value& value) { return value.is_bool() && value.get_bool(); }

// Of the one CDI file for the node that there was before v25.12.0.
bool IsLegacyId(std::string_view cdi_id) { return cdi_id.starts_with("k8s.gpu.nvidia.com/device="); }

// ---- What we cannot undo.

// A sharing config other than "Default" time slices, or VFIO, among the claim's configs for our driver.
std::optional<std::string> UnservedConfig(const json::Value& record, std::string_view strategy) {
  for (const json::Value& config : ListAt(At(record, "status", "allocation", "devices"), "config")) {
    if (TextAt(At(config, "opaque"), "driver") != kDriver) continue;
    const json::Value& parameters = At(config, "opaque", "parameters");
    const json::Value& sharing = At(parameters, "sharing");
    if (strategy == "VFIO" && TextAt(parameters, "kind") == "VfioDeviceConfig") return "VFIO";
    if (TextAt(sharing, "strategy") != strategy) continue;
    if (strategy == "MPS") return "MPS";
    const std::string interval = TextAt(At(sharing, "timeSlicingConfig"), "interval");
    if (!interval.empty() && interval != "Default") return Format("time-slicing with interval {}", Quote(interval));
  }
  return std::nullopt;
}

std::optional<std::string> UnservedGroup(const json::Value& record, const json::Value& group) {
  bool has_gpu = false;
  for (const json::Value& device : ListAt(group, "devices")) {
    if (At(device, "vfio").is_object()) {
      return "VFIO device " + Quote(TextAt(At(device, "vfio", "device"), "DeviceName"));
    }
    has_gpu |= At(device, "gpu").is_object();
  }
  const json::Value& state = At(group, "configState");
  const std::string daemon = TextAt(state, "mpsControlDaemonID");
  if (!daemon.empty()) return "MPS control daemon " + Quote(daemon);
  if (IsTrue(At(state, "mpsApplied"))) return "MPS";
  const json::Value& applied = At(state, "timeSliceApplied");  // Absent before v0.4.1.
  if (has_gpu && (applied.is_null() || IsTrue(applied))) return UnservedConfig(record, "TimeSlicing");
  return std::nullopt;
}

std::optional<std::string> UnservedPart(const json::Value& record) {
  const json::Array& groups = ListAt(record, "preparedDevices");
  for (const json::Value& group : groups) {
    if (auto what = UnservedGroup(record, group)) return what;
  }
  if (!groups.empty()) return std::nullopt;
  // Begun only: nobody wrote down how far it came, so what was asked for may be there.
  for (const std::string_view strategy : {"MPS", "TimeSlicing", "VFIO"}) {
    if (auto what = UnservedConfig(record, strategy)) return what;
  }
  return std::nullopt;
}

// ---- Devices.

std::string MainName(std::string_view request) { return std::string(request.substr(0, request.find('/'))); }

// The claim's results for our driver. Two may name one device, with different shares: each is used once.
class Results {
 public:
  explicit Results(const json::Value& record) {
    for (const json::Value& result : ListAt(At(record, "status", "allocation", "devices"), "results")) {
      if (TextAt(result, "driver") == kDriver) left_.push_back(&result);
    }
  }

  const json::Value& Take(const api::PreparedDevice& device) {
    const auto found = std::ranges::find_if(left_, [&](const json::Value* result) {
      return TextAt(*result, "device") == device.name && TextAt(*result, "pool") == device.pool &&
             (device.requests.empty() || MainName(TextAt(*result, "request")) == device.requests.front());
    });
    if (found == left_.end()) return Null();
    const json::Value& result = **found;
    left_.erase(found);
    return result;
  }

  const std::vector<const json::Value*>& left() const { return left_; }

 private:
  std::vector<const json::Value*> left_;
};

void AddResult(api::PreparedDevice& device, const json::Value& result) {
  device.admin_access = IsTrue(At(result, "adminAccess"));
  if (const std::string share = TextAt(result, "shareID"); !share.empty()) device.share_id = share;
}

// What the name alone says.
void AddName(api::PreparedDevice& device) {
  const auto name = ParseGoDeviceName(device.name);
  if (!name) return;
  device.hardware.gpu_minor = name->gpu_minor;
  if (!name->is_mig) return;
  api::MigHardware& mig = device.hardware.mig.emplace();
  mig.profile = name->profile;
  mig.placement_start = name->placement_start;
  mig.placement_size = name->placement_size;
}

// `mig` is {"concrete":{…}} since v25.12.0, {"info":{"uuid":…}} before.
void AddMig(api::PreparedDevice& device, const json::Value& mig) {
  if (!device.hardware.mig) device.hardware.mig.emplace();
  api::MigHardware& hardware = *device.hardware.mig;
  hardware.uuid = TextAt(At(mig, "info"), "uuid");
  const json::Value& tuple = At(mig, "concrete");
  if (!tuple.is_object()) return;
  hardware.uuid = TextAt(tuple, "migUUID");
  hardware.gpu_instance = NumberAt(tuple, "giId").value_or(0);
  hardware.compute_instance = NumberAt(tuple, "ciId").value_or(0);
  device.hardware.gpu_uuid = TextAt(tuple, "parentUUID");
  device.hardware.bus_id = Lower(TextAt(tuple, "parentPCIBusID"));
  device.hardware.gpu_minor = NumberAt(tuple, "parentMinor");
}

std::optional<api::PreparedDevice> ReadDevice(const json::Value& value, Results& results) {
  const json::Value& gpu = At(value, "gpu");
  const json::Value& mig = At(value, "mig");
  const json::Value& helper = At(gpu.is_object() ? gpu : mig, "device");
  api::PreparedDevice device;
  device.name = TextAt(helper, "DeviceName");
  device.pool = TextAt(helper, "PoolName");
  device.cdi_ids = TextsAt(helper, "CDIDeviceIDs");
  for (const std::string& request : TextsAt(helper, "Requests")) device.requests.push_back(MainName(request));
  AddResult(device, results.Take(device));
  if (const std::string share = TextAt(helper, "ShareID"); !share.empty()) device.share_id = share;
  AddName(device);
  if (gpu.is_object()) {
    device.hardware.mig.reset();
    device.hardware.gpu_uuid = TextAt(At(gpu, "info"), "uuid");
  } else {
    AddMig(device, mig);
  }
  const bool is_known = !(device.hardware.mig ? device.hardware.mig->uuid : device.hardware.gpu_uuid).empty();
  if (device.name.empty() || !is_known) return std::nullopt;
  return device;
}

api::PreparedDevice FromResult(const json::Value& result) {
  api::PreparedDevice device;
  device.requests = {MainName(TextAt(result, "request"))};
  device.pool = TextAt(result, "pool");
  device.name = TextAt(result, "device");
  AddResult(device, result);
  AddName(device);
  return device;
}

// ---- Claims.

std::vector<std::string> PodsOf(const json::Value& record, const std::string& namespace_name) {
  std::vector<std::string> pods;
  for (const json::Value& consumer : ListAt(At(record, "status"), "reservedFor")) {
    if (TextAt(consumer, "resource") != "pods") continue;
    const std::string name = TextAt(consumer, "name");
    pods.push_back(namespace_name.empty() ? name : namespace_name + "/" + name);
  }
  return pods;
}

// The claim, or what keeps us from serving it.
std::expected<api::PreparedClaim, std::string> ReadClaim(api::ClaimRef ref, const json::Value& record, bool is_v1) {
  if (!api::IsClaimUid(ref.uid) || !record.is_object()) return std::unexpected("a record that cannot be read");
  if (auto what = UnservedPart(record)) return std::unexpected(std::move(*what));
  api::PreparedClaim claim;
  claim.claim = std::move(ref);
  const bool is_completed = is_v1 || TextAt(record, "checkpointState") == "PrepareCompleted";
  claim.state = is_completed ? api::ClaimState::kCompleted : api::ClaimState::kStarted;
  claim.pods = PodsOf(record, claim.claim.namespace_name);
  claim.allocation = At(record, "status", "allocation");
  claim.origin = "go";
  claim.adopted = record;

  Results results(record);
  for (const json::Value& group : ListAt(record, "preparedDevices")) {
    for (const json::Value& value : ListAt(group, "devices")) {
      auto device = ReadDevice(value, results);
      if (!device) return std::unexpected("a record with a device that has no name or UUID");
      claim.devices.push_back(std::move(*device));
    }
  }
  if (!is_completed && claim.devices.empty()) {
    for (const json::Value* result : results.left()) claim.devices.push_back(FromResult(*result));
  }
  return claim;
}

// ---- Who wrote it.

// By what its record of a claim has, or would have. Nothing when the record does not tell.
std::optional<GoRelease> ReleaseOf(const json::Value& record, bool has_boot) {
  for (const json::Value& group : ListAt(record, "preparedDevices")) {
    const bool spells_out = At(group, "configState", "mpsControlDaemonID").is_string();
    if (has_boot) return spells_out ? GoRelease::kV0_4 : GoRelease::kHead;
    for (const json::Value& device : ListAt(group, "devices")) {
      const json::Value& helper = At(At(device, At(device, "gpu").is_object() ? "gpu" : "mig"), "device");
      const bool has_base = std::ranges::any_of(TextsAt(helper, "CDIDeviceIDs"), IsLegacyId);
      return has_base ? GoRelease::kV25_8 : GoRelease::kV25_12;
    }
  }
  return std::nullopt;
}

GoRelease ReleaseOf(const json::Value& root) {
  const json::Value& v2 = At(root, "v2");
  if (!v2.is_object()) return GoRelease::kV25_3;
  const bool has_boot = !TextAt(v2, "nodeBootID").empty();
  const json::Object* claims = At(v2, "preparedClaims").if_object();
  const json::Object none;
  for (const auto& item : claims == nullptr ? none : *claims) {
    if (const auto release = ReleaseOf(item.value(), has_boot)) return *release;
  }
  return has_boot ? GoRelease::kHead : GoRelease::kV25_12;
}

// Of the values as they stand. Go takes it of what its structs keep of them.
bool ChecksumsMatch(const json::Value& root) {
  const auto matches = [](const json::Value& claimed, json::Object object) {
    object["checksum"] = 0;
    return claimed == json::Value(GoChecksum(PrintGoJson(object)));
  };
  json::Object outer = {{"checksum", 0}};
  if (At(root, "v1").is_object()) outer.emplace("v1", At(root, "v1"));
  if (!matches(At(root, "checksum"), outer)) return false;
  const json::Value& v2 = At(root, "v2");
  return !v2.is_object() || matches(At(v2, "checksum"), v2.get_object());
}

}  // namespace

Result<Checkpoint> ReadCheckpoint(std::string_view text) {
  auto root = json::ParseJson(text);
  if (!root.has_value() || !root->is_object()) {
    return BadConfig("CheckpointUnreadable",
                     "the Go driver's checkpoint.json is not JSON" +
                         (root.has_value() ? std::string() : ": " + root.error().message()),
                     "restore the file, or remove it if no pod on this node uses a GPU through DRA");
  }
  const bool is_v1 = !At(*root, "v2").is_object();
  const json::Value& version = At(*root, is_v1 ? "v1" : "v2");
  Checkpoint checkpoint;
  checkpoint.boot_id = TextAt(version, "nodeBootID");
  checkpoint.checksum_matches = ChecksumsMatch(*root);
  checkpoint.release = ReleaseOf(*root);
  const json::Object none;
  const json::Object* claims = At(version, "preparedClaims").if_object();
  for (const auto& item : claims == nullptr ? none : *claims) {
    const json::Value& record = item.value();
    const api::ClaimRef ref{TextAt(record, "namespace"), TextAt(record, "name"), std::string(item.key())};
    auto claim = ReadClaim(ref, record, is_v1);
    if (!claim.has_value()) {
      checkpoint.unserved.push_back({ref, std::move(claim).error()});
      continue;
    }
    claim->boot_id = checkpoint.boot_id;
    checkpoint.claims.push_back(std::move(*claim));
  }
  return checkpoint;
}

}  // namespace tessera::journal
