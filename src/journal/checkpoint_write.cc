#include <algorithm>
#include <cstdint>
#include <map>

#include "journal/checkpoint.h"
#include "journal/go_checkpoint.h"

namespace tessera::journal {
namespace {

constexpr std::string_view kCompleted = "PrepareCompleted";
constexpr std::string_view kStarted = "PrepareStarted";

json::Array Texts(const std::vector<std::string>& texts) {
  json::Array array;
  for (const auto& text : texts) array.emplace_back(std::string_view(text));
  return array;
}

json::Object MigTuple(const api::Hardware& hardware) {
  const api::MigHardware& mig = *hardware.mig;
  return {{"parentMinor", std::int64_t{hardware.gpu_minor.value_or(0)}},
          {"giId", std::int64_t{mig.gpu_instance}},
          {"ciId", std::int64_t{mig.compute_instance}},
          {"migUUID", mig.uuid},
          {"parentUUID", hardware.gpu_uuid},
          {"parentPCIBusID", hardware.bus_id}};
}

json::Object DeviceRecord(const api::PreparedDevice& device) {
  json::Object helper = {{"Requests", Texts(device.requests)},
                         {"PoolName", device.pool},
                         {"DeviceName", device.name},
                         {"CDIDeviceIDs", Texts(device.cdi_ids)}};
  if (device.share_id) helper.emplace("ShareID", *device.share_id);
  if (device.hardware.mig) {  // In both forms; the release's type keeps its own.
    return {{"mig", json::Object{{"info", json::Object{{"uuid", device.hardware.mig->uuid}}},
                                 {"concrete", MigTuple(device.hardware)},
                                 {"device", std::move(helper)}}}};
  }
  return {
      {"gpu", json::Object{{"info", json::Object{{"uuid", device.hardware.gpu_uuid}}}, {"device", std::move(helper)}}}};
}

// As the Go driver would have written it. Unlike it we keep the name when a claim is completed: it reads that, and
// whoever comes after it knows whose claim it is.
json::Object OwnRecord(const api::PreparedClaim& claim) {
  const bool is_completed = claim.state == api::ClaimState::kCompleted;
  json::Object record = {{"checkpointState", is_completed ? kCompleted : kStarted},
                         {"status", json::Object{{"allocation", claim.allocation}}},
                         {"name", claim.claim.name},
                         {"namespace", claim.claim.namespace_name}};
  if (is_completed) {
    json::Array devices;
    for (const auto& device : claim.devices) devices.push_back(DeviceRecord(device));
    record.emplace("preparedDevices", json::Array{json::Object{{"devices", std::move(devices)}}});
  }
  return record;
}

// Up to v25.8.1 a MIG device's record was {"info":{"uuid":…}}; since then it is the tuple that identifies it.
void GiveTuple(json::Value& device, const api::PreparedClaim& claim) {
  if (!device.is_object()) return;
  json::Value* mig = device.get_object().if_contains("mig");
  if (mig == nullptr || !mig->is_object() || mig->get_object().contains("concrete")) return;
  const json::Value* helper = mig->get_object().if_contains("device");
  const json::Value* name =
      helper != nullptr && helper->is_object() ? helper->get_object().if_contains("DeviceName") : nullptr;
  if (name == nullptr || !name->is_string()) return;
  const auto found = std::ranges::find(claim.devices, std::string_view(name->get_string()), &api::PreparedDevice::name);
  if (found != claim.devices.end() && found->hardware.mig) {
    mig->get_object()["concrete"] = MigTuple(found->hardware);
  }
}

void GiveTuples(json::Object& record, const api::PreparedClaim& claim) {
  json::Value* groups = record.if_contains("preparedDevices");
  if (groups == nullptr || !groups->is_array()) return;
  for (json::Value& group : groups->get_array()) {
    json::Value* devices = group.is_object() ? group.get_object().if_contains("devices") : nullptr;
    if (devices == nullptr || !devices->is_array()) continue;
    for (json::Value& device : devices->get_array()) GiveTuple(device, claim);
  }
}

json::Object AdoptedRecord(const api::PreparedClaim& claim) {
  json::Object record = claim.adopted.get_object();
  record["checkpointState"] = claim.state == api::ClaimState::kCompleted ? kCompleted : kStarted;
  record["name"] = claim.claim.name;  // May have been found since.
  record["namespace"] = claim.claim.namespace_name;
  GiveTuples(record, claim);
  return record;
}

// An empty file of v25.8 looks like one of v25.12, which has names and does not need those of completed claims.
void DropNames(json::Object& record) {
  record.erase("name");
  record.erase("namespace");
}

// A claim that was begun by the Go driver and completed by us has our devices.
bool GoesBackAsItCame(const api::PreparedClaim& claim) {
  if (!claim.adopted.is_object()) return false;
  const bool has_devices = claim.adopted.get_object().contains("preparedDevices");
  return has_devices || claim.state == api::ClaimState::kStarted;
}

// Replaces the checksum, which was taken with 0 in its place.
json::Object Sum(json::Object object) {
  object["checksum"] = GoChecksum(PrintGoJson(object));
  return object;
}

}  // namespace

std::string WriteCheckpoint(const std::vector<api::PreparedClaim>& claims, const std::string& boot_id,
                            GoRelease release) {
  const GoClaimTypes types = GoClaimTypesOf(release);
  std::map<std::string_view, json::Value> records;  // Go sorts the keys of maps.
  for (const auto& claim : claims) {
    json::Object record = GoesBackAsItCame(claim) ? AdoptedRecord(claim) : OwnRecord(claim);
    if (release < GoRelease::kV0_4 && claim.state == api::ClaimState::kCompleted) DropNames(record);
    records.insert_or_assign(claim.claim.uid, ThroughGo(*types.v2, record));
  }
  json::Object completed;
  json::Object all;
  for (auto& [uid, record] : records) {
    if (record.at("checkpointState").as_string() == kCompleted) completed.emplace(uid, ThroughGo(*types.v1, record));
    all.emplace(uid, std::move(record));
  }
  json::Object v1;
  if (!completed.empty()) v1.emplace("preparedClaims", std::move(completed));
  json::Object v2 = {{"checksum", 0}};
  if (!all.empty()) v2.emplace("preparedClaims", std::move(all));
  if (!boot_id.empty() && release >= GoRelease::kV0_4) v2.emplace("nodeBootID", boot_id);

  json::Object checkpoint = Sum({{"checksum", 0}, {"v1", std::move(v1)}});
  if (release >= GoRelease::kV25_8) checkpoint.emplace("v2", Sum(std::move(v2)));
  return PrintGoJson(checkpoint);
}

}  // namespace tessera::journal
