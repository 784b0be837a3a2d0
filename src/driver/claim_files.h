// driver/claim_files.h: keeps each claim's CDI file in line with its record.
#pragma once

#include <optional>
#include <string>

#include "api/prepared_claim.h"
#include "base/error.h"
#include "cdi/writer.h"
#include "driver/hardware.h"

namespace tessera::driver {

// Safe to call from any thread; two calls for one claim must not overlap (its lease is held).
class ClaimFiles {
 public:
  explicit ClaimFiles(cdi::Writer& writer) : writer_(writer) {}

  // Writes the claim's file, and the base file that it leans on, unless they are there and right. True when something
  // had to be written. A file that the Go driver left for an adopted claim is right.
  Result<bool> Ensure(const api::PreparedClaim& claim, const HardwareState& hardware);

  Result<void> Remove(const std::string& uid) { return writer_.RemoveClaim(uid); }

  // The record that a claim file carries in its first line, if any: what a lost journal is rebuilt from.
  static std::optional<api::PreparedClaim> RecordOf(const cdi::Writer::ClaimFile& file);

 private:
  cdi::Writer& writer_;
};

}  // namespace tessera::driver
