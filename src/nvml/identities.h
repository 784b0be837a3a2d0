// nvml/identities.h: who is who among GPUs that do not say so themselves.
#pragma once

#include <string>
#include <vector>

#include "nvml/vitals.h"

namespace tessera::nvml {

// Remembers GPUs by index over the hosts that read them.
class Identities {
 public:
  // Completes a host's reading, whose GPUs are in the order of their index. One that is lost or silent gets the UUID it
  // had before, when nothing suggests that the indices have moved; one that was there before and is missing is added,
  // as lost. GPUs that nobody can name become gaps of the machine.
  void Complete(MachineVitals& machine);

  void Clear();

 private:
  struct Identity {
    std::string uuid, bus_id;
  };
  void Name(MachineVitals& machine) const;
  void Remember(const MachineVitals& machine);

  std::vector<Identity> by_index_;  // Of the last reading; empty where it was not known.
  std::vector<Identity> seen_;
};

}  // namespace tessera::nvml
