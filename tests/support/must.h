// tests/support/must.h: for test fixtures and benchmarks, which have nobody to hand an error to.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.h"

namespace tessera::tests {

// The value; ends the program with the error's words when there is none.
template <class T>
T Must(Result<T> result) {
  if (!result) Abort(result.error().Text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace tessera::tests
