// tests/fuzz/target.h: what a fuzz target is made of. Each *_fuzz.cc defines Fuzz(); docs are in tests/fuzz/README.md.
#pragma once

#include <string_view>

#include "base/error.h"

namespace tessera {

// Takes any bytes and comes back. It stops the process when a promise about them is broken.
void Fuzz(std::string_view input);

inline void Require(bool holds, std::string_view promise) {
  if (!holds) Abort(promise);
}

}  // namespace tessera
