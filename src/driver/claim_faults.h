// driver/claim_faults.h: everything that is wrong with a claim, as one error: a person corrects it in one go.
#pragma once

#include <string>
#include <vector>

#include "api/resource_claim.h"
#include "base/error.h"
#include "kubelet/plugin_server.h"

namespace tessera::driver {

class ClaimFaults {
 public:
  // A fault whose text names the device itself.
  void Add(const Error& error) { Add(error, ""); }
  // One that several devices may share, such as a config's: it is said once, with all of them.
  void Add(const api::AllocationResult& result, const Error& error);
  void Add(const api::PreparedDevice& device, const Error& error);

  bool empty() const { return faults_.empty(); }
  // The code of the first that does not go away by itself: it says who must act. Only if not empty.
  Error AsError() const;

 private:
  struct Fault {
    Error error;
    std::vector<std::string> places;  // "request gpus (gpu-0)".
  };
  void Add(const Error& error, const std::string& place);

  std::vector<Fault> faults_;
};

// The kubelet shows a person the error of one claim of a call only. So each of several gets the others' as well.
void NameEachOther(const std::vector<api::ClaimRef>& claims, kubelet::Answers& answers);

}  // namespace tessera::driver
