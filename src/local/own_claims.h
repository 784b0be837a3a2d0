// local/own_claims.h: the claims of this run, in memory, where the plugin would ask the API server.
#pragma once

#include <map>
#include <string>

#include "base/text.h"
#include "driver/claim_source.h"

namespace tessera::local {

// Filled before anybody asks.
class OwnClaims final : public driver::ClaimSource {
 public:
  void Put(api::ResourceClaim claim) { claims_.insert_or_assign(claim.ref.uid, std::move(claim)); }

  // Of others' claims nothing is known here. That is no sign that they are gone.
  Result<api::ResourceClaim> Get(const api::ClaimRef& claim, std::chrono::steady_clock::time_point, Urgency) override {
    const auto found = claims_.find(claim.uid);
    if (found != claims_.end()) return found->second;
    return Transient("NotOurClaim", Format("claim {} is not of this run", api::ToText(claim)));
  }

 private:
  std::map<std::string, api::ResourceClaim> claims_;
};

}  // namespace tessera::local
