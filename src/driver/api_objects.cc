#include "driver/api_objects.h"

#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kWriteTimeout{30};
constexpr seconds kEventTimeout{10};
constexpr seconds kStatusTimeout{10};
constexpr seconds kTakeOverTimeout{3};
// What we applied under another name would stay when we apply something else: it must never change.
constexpr std::string_view kFieldManager = "tessera-kubelet-plugin";

kube::Call Background(seconds timeout) {
  return {.deadline = steady_clock::now() + timeout, .lane = kube::Lane::kBackground};
}

std::string ClaimPath(const api::ClaimRef& claim) {
  return Format("namespaces/{}/resourceclaims/{}", kube::Escape(claim.namespace_name), kube::Escape(claim.name));
}

std::string EventsPath(const std::string& namespace_name) {
  return Format("/api/v1/namespaces/{}/events", kube::Escape(namespace_name));
}

// The Go driver gives MIG devices that are there their UUID, and those that it would make none.
bool IsMigOnDemand(const api::Device& device) {
  const auto found = device.attributes.find("type");
  const auto* type = found == device.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return type != nullptr && *type == "mig" && !device.attributes.contains("uuid");
}

}  // namespace

Result<api::ResourceClaim> ApiClaims::Get(const api::ClaimRef& claim, steady_clock::time_point deadline,
                                          Urgency urgency) {
  const kube::Call call{.deadline = deadline,
                        .lane = urgency == Urgency::kBackground ? kube::Lane::kBackground : kube::Lane::kUrgent,
                        .retry = urgency == Urgency::kPodWaits};
  TESSERA_ASSIGN(const std::string path, api_.Path(ClaimPath(claim), call));
  auto object = client_.Get(path, call);
  if (!object) {
    // A 404 may also mean that the version went away with an upgrade or downgrade of the server.
    if (object.error().code() == "ApiNotFound") api_.Forget();
    return std::unexpected(std::move(object).error());
  }
  return api::DecodeClaim(*object);
}

Result<std::string> ApiSlices::Version() { return api_.Version(Background(kWriteTimeout)); }

Result<api::OwnerReference> ApiSlices::Node() {
  TESSERA_ASSIGN(const json::Value node,
                 client_.Get(Format("/api/v1/nodes/{}", kube::Escape(node_name_)), Background(kWriteTimeout)));
  const std::string uid = TextAt(node, {"metadata", "uid"});
  if (uid.empty()) return Transient("ApiUnexpected", Format("node {} has no UID", node_name_));
  return api::OwnerReference{"v1", "Node", node_name_, uid};
}

// "35", or "35+" from builds that are not releases.
Result<bool> ApiSlices::TakesInformingTaints() {
  constexpr unsigned kSince = 35;
  TESSERA_ASSIGN(const json::Value version, client_.Get("/version", Background(kWriteTimeout)));
  const std::string minor = TextAt(version, {"minor"});
  const auto number = ParseNumber<unsigned>(minor.substr(0, minor.find_first_not_of("0123456789")));
  return TextAt(version, {"major"}) == "1" && number.value_or(0) >= kSince;
}

Result<json::Value> ApiSlices::Create(const json::Value& slice) {
  const kube::Call call = Background(kWriteTimeout);
  TESSERA_ASSIGN(const std::string path, api_.Path("resourceslices", call));
  return client_.Create(path, slice, call);
}

Result<json::Value> ApiSlices::Update(const std::string& name, const json::Value& slice) {
  const kube::Call call = Background(kWriteTimeout);
  TESSERA_ASSIGN(const std::string path, api_.Path("resourceslices/" + kube::Escape(name), call));
  return client_.Update(path, slice, call);
}

Result<void> ApiSlices::Delete(const std::string& name, const std::string& uid, const std::string& resource_version) {
  const kube::Call call = Background(kWriteTimeout);
  TESSERA_ASSIGN(const std::string path, api_.Path("resourceslices/" + kube::Escape(name), call));
  return client_.Delete(path, uid, resource_version, call);
}

Result<MigOnDemand> FindMigOnDemand(kube::Client& client, kube::ResourceApi& api, const std::string& node_name) {
  const kube::Call call{.deadline = steady_clock::now() + kTakeOverTimeout};
  const std::string ours = Format("spec.driver={},spec.nodeName={}", device::kDriverName, node_name);
  TESSERA_ASSIGN(const std::string path, api.Path("resourceslices?fieldSelector=" + kube::Escape(ours), call));
  TESSERA_ASSIGN(const json::Value list, client.Get(path, call));
  const json::Value* items = list.is_object() ? list.get_object().if_contains("items") : nullptr;
  if (items == nullptr || !items->is_array() || items->get_array().empty()) return MigOnDemand();
  std::set<std::string> found;
  for (const json::Value& item : items->get_array()) {
    TESSERA_ASSIGN(const api::ResourceSlice slice, api::DecodeSlice(item));
    for (const api::Device& device : slice.devices) {
      if (IsMigOnDemand(device)) found.insert(device.name);
    }
  }
  return found;
}

Result<std::vector<api::DeviceStatus>> ApiClaimStatus::Apply(const api::ClaimRef& claim,
                                                             const std::vector<api::DeviceStatus>& devices,
                                                             const std::stop_token& stop) {
  kube::Call call = Background(kStatusTimeout);
  call.stop = stop;
  TESSERA_ASSIGN(const std::string version, api_.Version(call));
  TESSERA_ASSIGN(const std::string path, api_.Path(ClaimPath(claim) + "/status", call));
  // With the UID a claim that was deleted and made again is refused instead of written.
  const json::Object body{
      {"apiVersion", "resource.k8s.io/" + version},
      {"kind", "ResourceClaim"},
      {"metadata", json::Object{{"name", claim.name}, {"namespace", claim.namespace_name}, {"uid", claim.uid}}},
      {"status", json::Object{{"devices", api::ToJson(devices)}}}};
  const auto answer = client_.Apply(path, kFieldManager, body, call);
  if (!answer) {
    if (answer.error().code() == "ApiNotFound") api_.Forget();  // The claim is gone, or the version.
    return std::unexpected(answer.error());
  }
  TESSERA_ASSIGN(const api::ResourceClaim stored, api::DecodeClaim(*answer));
  return api::DecodeDeviceStatus(stored.raw_devices, device::kDriverName);
}

Result<std::string> ApiEvents::Create(const std::string& namespace_name, const json::Value& event) {
  TESSERA_ASSIGN(const json::Value created,
                 client_.Create(EventsPath(namespace_name), event, Background(kEventTimeout)));
  return TextAt(created, {"metadata", "name"});
}

Result<void> ApiEvents::Patch(const std::string& namespace_name, const std::string& name, const json::Value& patch) {
  TESSERA_TRY(client_.Patch(Format("{}/{}", EventsPath(namespace_name), kube::Escape(name)),
                            "application/merge-patch+json", patch, Background(kEventTimeout)));
  return {};
}

}  // namespace tessera::driver
