// health/signal.h: one observation about a GPU or a MIG instance, as everything that watches hands it on.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "health/terms.h"

namespace tessera::health {

// A physical GPU, or an instance of it. A GPU instance without a compute instance is all that lives in it.
struct Place {
  std::string uuid;  // Of the physical GPU.
  std::optional<unsigned> gpu_instance, compute_instance;
  auto operator<=>(const Place&) const = default;
};

// Conditions are seen present or absent; when nobody could look there is no signal. Other things just happen.
enum class Sight : std::uint8_t { kOccurred, kPresent, kAbsent };

struct Signal {
  Kind kind = Kind::kXid;
  Place place;
  std::string detail;  // Which of its kind, where there are several: the Xid's number, a verdict's file, a code.
  Sight sight = Sight::kOccurred;
  std::string found;                 // What was seen, for a sentence: "3 new, 5 since the driver was loaded".
  std::optional<Severity> severity;  // Where the signal itself says how bad it is.
  std::string next;                  // The step to take, where the signal knows better than the catalogue.
  bool certain = false;              // Found by trying, so that nothing is left to confirm.
  bool operator==(const Signal&) const = default;
};

}  // namespace tessera::health
