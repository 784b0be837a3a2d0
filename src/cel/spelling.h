// cel/spelling.h: names in a selector that no device has, where they stand, and what was probably meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cel/device_facts.h"
#include "cel/device_selector.h"

namespace tessera::cel {

struct UnknownName {
  Reference reference;
  bool domain_known = false;  // Some device has something in the domain.
  std::size_t devices = 0;    // That were asked: those with something in the domain or, when there are none, all.
  std::string near;           // An id or, when the domain is not known, a domain; empty: nothing is near.
};

// In the order of the text. None when there are no devices: nothing is known then.
std::vector<UnknownName> FindUnknownNames(const DeviceSelector& selector, std::span<const DeviceFacts* const> devices);

// The expression with the near names in their places. A name that is written with escapes stays.
std::string Respell(std::string_view expression, std::span<const UnknownName> unknown);

// With the line it is on and a caret under it, as compile errors are told:
//
//   ERROR: <input>:1:36: device.attributes['gpu.nvidia.com'].productname: no such attribute on any of 8 devices; did
//   you mean productName?
//    | device.attributes['gpu.nvidia.com'].productname == 'NVIDIA H100 80GB HBM3'
//    | ...................................^
std::string Render(std::string_view expression, const UnknownName& unknown);

}  // namespace tessera::cel
