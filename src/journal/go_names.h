// journal/go_names.h: what the Go driver's device names say, for records that say it nowhere else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::journal {

struct GoDeviceName {
  unsigned gpu_minor = 0;
  bool is_mig = false;
  std::string profile;                               // "1g.24gb". Empty in old names.
  unsigned placement_start = 0, placement_size = 0;  // Size 0: not in new names.

  bool operator==(const GoDeviceName&) const = default;
};

// "gpu-0"; "gpu-0-mig-1g24gb-19-0" (profile, its id, start); up to v25.8.1 "gpu-0-mig-19-0-1" (id, start, size).
// Nothing when it is neither, as "gpu-vfio-0".
std::optional<GoDeviceName> ParseGoDeviceName(std::string_view name);

}  // namespace tessera::journal
