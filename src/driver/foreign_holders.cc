#include "driver/foreign_holders.h"

#include <algorithm>

namespace tessera::driver {

bool Holds(const ForeignHolder& holder, const api::Hardware& hardware) {
  return holder.uuid == hardware.gpu_uuid || (hardware.mig && holder.uuid == hardware.mig->uuid);
}

std::string_view UuidOf(std::string_view device_id) {
  const std::string_view uuid = device_id.substr(0, device_id.find("::"));
  return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid : std::string_view();
}

std::vector<ForeignHolder> FindForeignHolders(const std::vector<kubelet::PodDevices>& pods) {
  std::vector<ForeignHolder> holders;
  for (const kubelet::PodDevices& pod : pods) {
    for (const kubelet::PodDevices::Resource& resource : pod.resources) {
      if (!resource.name.starts_with("nvidia.com/")) continue;
      for (const std::string& id : resource.ids) {
        const std::string_view uuid = UuidOf(id);
        if (uuid.empty()) continue;
        holders.push_back({std::string(uuid), pod.pod_namespace + "/" + pod.pod_name, resource.name});
      }
    }
  }
  std::ranges::sort(holders, {}, [](const ForeignHolder& holder) { return std::tie(holder.uuid, holder.pod); });
  const auto repeated = std::ranges::unique(holders);
  holders.erase(repeated.begin(), repeated.end());
  return holders;
}

std::optional<std::vector<std::string>> ClaimedCdiIds(const std::vector<kubelet::PodDevices>& pods) {
  std::optional<std::vector<std::string>> ids;
  for (const kubelet::PodDevices& pod : pods) {
    for (const auto& claim : pod.claims) {
      if (!ids) ids.emplace();
      for (const auto& device : claim.devices) ids->insert(ids->end(), device.cdi_ids.begin(), device.cdi_ids.end());
    }
  }
  return ids;
}

Result<std::vector<kubelet::PodDevices>> ForeignHolders::Refresh(std::chrono::milliseconds timeout) {
  TESSERA_ASSIGN(std::vector<kubelet::PodDevices> pods, kubelet::ListPodDevices(socket_, timeout));
  std::vector<ForeignHolder> holders = FindForeignHolders(pods);
  const std::lock_guard lock(mutex_);
  seen_ = seen_ || !holders.empty();
  holders_ = std::move(holders);
  return pods;
}

std::vector<ForeignHolder> ForeignHolders::Current() const {
  const std::lock_guard lock(mutex_);
  return holders_;
}

std::optional<ForeignHolder> ForeignHolders::HolderOf(const api::Hardware& hardware,
                                                      std::chrono::milliseconds timeout) {
  {
    const std::lock_guard lock(mutex_);
    if (!seen_) return std::nullopt;
  }
  (void)Refresh(timeout);  // A kubelet that does not answer is not a reason to fail: the last list is seconds old.
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(holders_, [&](const ForeignHolder& holder) { return Holds(holder, hardware); });
  return found == holders_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tessera::driver
