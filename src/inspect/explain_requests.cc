#include "inspect/explain_requests.h"

#include "base/text.h"

namespace tessera::inspect {

api::DeviceRequest& Place::In(Situation& situation) const {
  api::ClaimRequest& at = situation.claims[claim].spec.requests[request];
  return alternative ? at.first_available[*alternative] : *at.exactly;
}

std::vector<NamedRequest> AllRequests(const Situation& situation) {
  std::vector<NamedRequest> all;
  for (std::size_t c = 0; c < situation.claims.size(); ++c) {
    const alloc::Claim& claim = situation.claims[c];
    const std::string of = situation.claims.size() > 1 ? Format(" of claim {}", api::ToText(claim.ref)) : "";
    for (std::size_t r = 0; r < claim.spec.requests.size(); ++r) {
      const api::ClaimRequest& request = claim.spec.requests[r];
      if (request.exactly) {
        all.push_back({{c, r, std::nullopt}, &*request.exactly, Format("request {}{}", request.name, of)});
      }
      for (std::size_t a = 0; a < request.first_available.size(); ++a) {
        const api::DeviceRequest& sub = request.first_available[a];
        all.push_back({{c, r, a}, &sub, Format("request {}/{}{}", request.name, sub.name, of)});
      }
    }
  }
  return all;
}

}  // namespace tessera::inspect
