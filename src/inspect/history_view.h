// inspect/history_view.h: how the devices of finished claims were when these ended, on a screen or for a program.
#pragma once

#include <string>

#include "health/state_file.h"
#include "inspect/devices_view.h"

namespace tessera::inspect {

// The newest first. Every format but kSlices, which has no such thing.
std::string RenderHistory(const health::History& history, const DevicesView& view);

}  // namespace tessera::inspect
