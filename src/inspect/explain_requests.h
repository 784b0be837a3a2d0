// inspect/explain_requests.h: every way to satisfy a request, by number, so that it is found again in a changed copy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "inspect/explain_situation.h"

namespace tessera::inspect {

struct Place {
  std::size_t claim = 0, request = 0;
  std::optional<std::size_t> alternative;  // Of firstAvailable.

  api::DeviceRequest& In(Situation& situation) const;
};

struct NamedRequest {
  Place place;
  const api::DeviceRequest* request = nullptr;  // In the situation.
  std::string name;                             // "request gpus", "request gpus/large of claim default/a".
};

// In the order of the claims.
std::vector<NamedRequest> AllRequests(const Situation& situation);

}  // namespace tessera::inspect
