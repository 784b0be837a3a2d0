// driver/foreign_holders.h: which GPUs the pods of a device plugin hold, so that no claim is given one of them.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"
#include "kubelet/neighbours.h"

namespace tessera::driver {

// A GPU or MIG device by UUID, and the pod that has it.
struct ForeignHolder {
  std::string uuid;
  std::string pod;       // "namespace/name"
  std::string resource;  // "nvidia.com/gpu"

  bool operator==(const ForeignHolder&) const = default;
};

// Whether the pod has this very GPU or MIG device, or the GPU it is a part of.
bool Holds(const ForeignHolder& holder, const api::Hardware& hardware);

// The UUID of a device plugin's device id: "GPU-…::2" is the third replica of one. Empty when it is no UUID.
std::string_view UuidOf(std::string_view device_id);

// GPUs that device plugins gave to pods, from the kubelet's list. Sorted by UUID.
std::vector<ForeignHolder> FindForeignHolders(const std::vector<kubelet::PodDevices>& pods);

// The CDI ids that pods' claims have, from the same list. Nothing when it holds no claim of anybody: kubelets before 1.34
// do not tell, so that silence proves nothing.
std::optional<std::vector<std::string>> ClaimedCdiIds(const std::vector<kubelet::PodDevices>& pods);

// Asks the kubelet. Safe to call from any thread.
class ForeignHolders {
 public:
  explicit ForeignHolders(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // The kubelet's list now; kept for Current(). An error (no socket, an old kubelet) leaves the last list standing.
  Result<std::vector<kubelet::PodDevices>> Refresh(std::chrono::milliseconds timeout);
  std::vector<ForeignHolder> Current() const;

  // Who holds this hardware, or a part or the whole of it. Asks the kubelet again only on nodes where a device plugin
  // was ever seen: others pay nothing.
  std::optional<ForeignHolder> HolderOf(const api::Hardware& hardware, std::chrono::milliseconds timeout);

 private:
  const std::filesystem::path socket_;
  mutable std::mutex mutex_;  // Guards everything below.
  std::vector<ForeignHolder> holders_;
  bool seen_ = false;
};

}  // namespace tessera::driver
