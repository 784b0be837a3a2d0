// driver/api_objects.h: claims, slices and Events at a real API server.
#pragma once

#include <string>

#include "driver/claim_source.h"
#include "driver/claim_status.h"
#include "driver/events.h"
#include "driver/publisher.h"
#include "driver/takeover.h"
#include "kube/client.h"

namespace tessera::driver {

class ApiClaims final : public ClaimSource {
 public:
  ApiClaims(kube::Client& client, kube::ResourceApi& api) : client_(client), api_(api) {}
  Result<api::ResourceClaim> Get(const api::ClaimRef& claim, std::chrono::steady_clock::time_point deadline,
                                 Urgency urgency) override;

 private:
  kube::Client& client_;
  kube::ResourceApi& api_;
};

class ApiSlices final : public SliceStore {
 public:
  ApiSlices(kube::Client& client, kube::ResourceApi& api, std::string node_name)
      : client_(client), api_(api), node_name_(std::move(node_name)) {}
  Result<std::string> Version() override;
  Result<api::OwnerReference> Node() override;
  Result<bool> TakesInformingTaints() override;
  Result<json::Value> Create(const json::Value& slice) override;
  Result<json::Value> Update(const std::string& name, const json::Value& slice) override;
  Result<void> Delete(const std::string& name, const std::string& uid, const std::string& resource_version) override;

 private:
  kube::Client& client_;
  kube::ResourceApi& api_;
  const std::string node_name_;
};

// Before anything of ours is published: then these are the Go driver's slices.
Result<MigOnDemand> FindMigOnDemand(kube::Client& client, kube::ResourceApi& api, const std::string& node_name);

class ApiClaimStatus final : public StatusStore {
 public:
  ApiClaimStatus(kube::Client& client, kube::ResourceApi& api) : client_(client), api_(api) {}
  Result<std::vector<api::DeviceStatus>> Apply(const api::ClaimRef& claim,
                                               const std::vector<api::DeviceStatus>& devices,
                                               const std::stop_token& stop) override;

 private:
  kube::Client& client_;
  kube::ResourceApi& api_;
};

class ApiEvents final : public EventSink {
 public:
  explicit ApiEvents(kube::Client& client) : client_(client) {}
  Result<std::string> Create(const std::string& namespace_name, const json::Value& event) override;
  Result<void> Patch(const std::string& namespace_name, const std::string& name, const json::Value& patch) override;

 private:
  kube::Client& client_;
};

}  // namespace tessera::driver
