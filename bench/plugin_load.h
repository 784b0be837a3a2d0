// bench/plugin_load.h: how long Prepare and Unprepare take, and the floor under them in the same seconds.
#pragma once

#include "bench/callers.h"
#include "bench/plugin_node.h"

namespace tessera::bench {

struct Load {
  std::size_t callers = 1;
  bool admin_access = true;   // Otherwise each caller has a GPU to itself.
  std::size_t samples = 800;  // Of each kind, all callers together.
};

struct LoadTimes {
  Samples get, sync, call;  // One API GET, one append with fdatasync, one empty gRPC call.
  Samples floor;            // The three by one caller, one after the other.
  Samples unprepare_floor;  // The last two: nothing is asked of the API server.
  Samples prepare, unprepare;
};

LoadTimes Sum(const std::vector<LoadTimes>& parts);

// Shares the claims out to the callers. All measure the floor, then all prepare, then all unprepare; a caller's times
// are added to its entry of `times`. The claims exist, and nobody has prepared them.
void MeasureRound(std::vector<Caller>& callers, const std::vector<tests::Kubelet::Claim>& claims,
                  std::vector<LoadTimes>& times);

// Floor, Prepare and Unprepare take turns in short rounds: disks and shared machines are noisy, and all must see the
// same noise. Claims exist before they are prepared, and are deleted outside of what is measured.
LoadTimes Measure(PluginNode& node, const Load& load);

// Prepares claims with admin access and leaves them.
std::vector<tests::Kubelet::Claim> PrepareMany(PluginNode& node, std::size_t count);
void UnprepareMany(PluginNode& node, const std::vector<tests::Kubelet::Claim>& claims);

}  // namespace tessera::bench
