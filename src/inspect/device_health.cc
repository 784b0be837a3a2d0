#include "inspect/device_health.h"

#include "health/monitor.h"
#include "health/state_file.h"
#include "health/verdict.h"

namespace tessera::inspect {

Result<std::vector<health::DeviceHealth>> ReadDeviceHealth(const HealthPlaces& places, const device::Snapshot& snapshot,
                                                           health::Moment now) {
  TESSERA_ASSIGN(const health::SavedHealth saved, health::ReadHealth(places.plugin_dir / health::kHealthFile));
  health::Monitor monitor;
  monitor.Restore(saved, places.boot_id, now);
  monitor.SetDevices(snapshot, now);
  if (!places.verdicts.empty()) monitor.SetVerdicts(health::ReadVerdicts(places.verdicts).verdicts);
  (void)monitor.Tick(now);
  std::vector<health::DeviceHealth> found = monitor.report();
  std::erase_if(found, [](const health::DeviceHealth& health) { return health.reasons.empty(); });
  return found;
}

}  // namespace tessera::inspect
