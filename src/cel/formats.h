// cel/formats.h: the named formats of Kubernetes' format library: dns1123Label, uuid, datetime …
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cel {

struct NamedFormat {
  std::string_view name;
  std::vector<std::string> (*validate)(std::string_view text);  // What is wrong with it; empty: nothing.
  std::uint64_t longest_pattern;                                // For the cost.
};

std::span<const NamedFormat> NamedFormats();
const NamedFormat* FindFormat(std::string_view name);  // Null: there is none.

}  // namespace tessera::cel
