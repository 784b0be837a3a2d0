// alloc/attribute_set.h: attributes as sets of values, as DRAListTypeAttributes has them. A scalar is a set of one; order
// and repetition in a list mean nothing.
#pragma once

#include <optional>

#include "api/resource_slice.h"

namespace tessera::alloc {

// The list, or a list of the one value. An empty list, which the API refuses, is no set.
std::optional<api::Attribute> AsSet(const api::Attribute& attribute);

// What both sets have, or nothing: also when their types differ.
std::optional<api::Attribute> Common(const api::Attribute& a, const api::Attribute& b);

}  // namespace tessera::alloc
