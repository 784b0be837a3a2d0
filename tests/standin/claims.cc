#include "tests/standin/claims.h"

#include <set>

#include "base/text.h"

namespace tessera::standin {
namespace {

json::Object RequestOf(const std::string& name, bool admin_access) {
  json::Object exactly{{"deviceClassName", "gpu.nvidia.com"}, {"allocationMode", "ExactCount"}, {"count", 1}};
  if (admin_access) exactly.emplace("adminAccess", true);
  return {{"name", name}, {"exactly", std::move(exactly)}};
}

// One request for each main name among the devices. What was asked for does not matter to a driver, only that the names
// exist; a "main/sub" becomes a firstAvailable list.
json::Array RequestsOf(const std::vector<ClaimDevice>& devices) {
  json::Array requests;
  std::set<std::string> done;
  for (const ClaimDevice& device : devices) {
    const auto parts = Cut(device.request, "/");
    const std::string main(parts ? parts->first : std::string_view(device.request));
    if (!done.insert(main).second) continue;
    if (parts) {
      const json::Object sub{{"name", parts->second}, {"deviceClassName", "gpu.nvidia.com"}};
      requests.push_back({{"name", main}, {"firstAvailable", json::Array{sub}}});
    } else {
      requests.push_back(RequestOf(main, device.admin_access));
    }
  }
  if (requests.empty()) requests.push_back(RequestOf("gpu", false));
  return requests;
}

json::Array ResultsOf(const std::vector<ClaimDevice>& devices) {
  json::Array results;
  for (const ClaimDevice& device : devices) {
    json::Object result{
        {"request", device.request}, {"driver", device.driver}, {"pool", device.pool}, {"device", device.device}};
    if (device.admin_access) result.emplace("adminAccess", true);
    if (!device.share_id.empty()) result.emplace("shareID", device.share_id);
    results.push_back(std::move(result));
  }
  return results;
}

json::Array ConfigsOf(const std::vector<ClaimConfig>& configs) {
  json::Array list;
  for (const ClaimConfig& config : configs) {
    json::Object entry{{"source", config.source},
                       {"opaque", {{"driver", config.driver}, {"parameters", config.parameters}}}};
    if (!config.requests.empty()) {
      entry.emplace("requests", json::Array(config.requests.begin(), config.requests.end()));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json::Object NodeSelector(const std::string& node) {
  const json::Object field{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::Array{json::Value(node)}}};
  const json::Object term{{"matchFields", json::Array{field}}};
  return {{"nodeSelectorTerms", json::Array{term}}};
}

}  // namespace

json::Value BuildClaim(const ClaimOptions& options) {
  json::Object claim{{"kind", "ResourceClaim"}, {"apiVersion", "resource.k8s.io/v1"}};
  claim["metadata"] = {{"name", options.name}, {"namespace", options.ns}};
  claim["spec"] = {{"devices", {{"requests", RequestsOf(options.devices)}}}};
  if (options.devices.empty()) return claim;

  json::Object devices{{"results", ResultsOf(options.devices)}};
  if (!options.configs.empty()) devices.emplace("config", ConfigsOf(options.configs));
  json::Object allocation{{"devices", std::move(devices)}};
  if (!options.node.empty()) allocation.emplace("nodeSelector", NodeSelector(options.node));
  json::Object status{{"allocation", std::move(allocation)}};
  if (!options.pod.empty()) {
    const std::string uid = options.pod_uid.empty() ? "uid-of-" + options.pod : options.pod_uid;
    const json::Object consumer{{"resource", "pods"}, {"name", options.pod}, {"uid", uid}};
    status.emplace("reservedFor", json::Array{consumer});
  }
  claim["status"] = std::move(status);
  return claim;
}

}  // namespace tessera::standin
