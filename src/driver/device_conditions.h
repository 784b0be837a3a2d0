// driver/device_conditions.h: what a claim's status says of its devices: conditions `Ready` and `Healthy`, and facts that
// a person or a program wants next to them. Pure.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/device_status.h"
#include "api/prepared_claim.h"
#include "health/report.h"

namespace tessera::driver {

// Of all devices of the node; see health_watch.h.
using NodeHealth = std::shared_ptr<const std::vector<health::DeviceHealth>>;

// Of the GPU or MIG device. Empty when it is not known.
const std::string& DeviceUuid(const api::Hardware& hardware);

// The health of a prepared device, by its hardware where that is known. Null when nothing is reported of it.
const health::DeviceHealth* FindHealth(const std::vector<health::DeviceHealth>& report,
                                       const api::PreparedDevice& device);

// Whether somebody has looked at the claim's devices since the plugin started. Before, "Unknown" says nothing that was
// not true of every restart.
bool IsChecked(const api::PreparedClaim& claim, const std::vector<health::DeviceHealth>& report);

// One entry a device, with the names of the allocation. All conditions begin at `now`: see KeepTransitions().
std::vector<api::DeviceStatus> StatusOf(const api::PreparedClaim& claim,
                                        const std::vector<health::DeviceHealth>& report, std::string_view node_name,
                                        std::string_view driver_version, std::chrono::system_clock::time_point now);

// A condition whose status is that of `before` began when it did then.
void KeepTransitions(std::vector<api::DeviceStatus>& devices, const std::vector<api::DeviceStatus>& before);

// The claim was unprepared: not `Ready` any more, and `Healthy` as it was last.
void MarkUnprepared(std::vector<api::DeviceStatus>& devices, std::string_view node_name,
                    std::chrono::system_clock::time_point now);

}  // namespace tessera::driver
