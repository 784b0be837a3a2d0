// api/opaque.h: a config for one driver, as claims, classes and allocations carry it.
#pragma once

#include <string>

#include "json/value.h"

namespace tessera::api {

struct Opaque {
  std::string driver;
  json::Value parameters;
};

// For json/decode.h.
template <class F>
void Describe(F& f, Opaque& o) {
  f.Required("driver", o.driver);
  f.Required("parameters", o.parameters);
}

}  // namespace tessera::api
