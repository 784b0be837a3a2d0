// nvml/watch.h: what an NVML host does that was asked to watch: waits for events, reads vitals, and sends both.
#pragma once

#include "nvml/progress.h"
#include "nvml/wire.h"

namespace tessera::nvml {

// Until the agent is gone, or an error was sent. The exit code of the host. Never spins, whatever NVML answers: at most
// ten messages a second are sent, and an error of the event wait is followed by a growing pause.
int Watch(const HostRequest& request, Receiver& receiver, Progress& progress);

}  // namespace tessera::nvml
