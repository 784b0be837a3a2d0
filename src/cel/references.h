// cel/references.h: which attributes and capacities of a device an expression names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/device_facts.h"

namespace tessera::cel {

// device.attributes[domain].id or device.capacity[domain].id, as constants in the text.
struct Reference {
  bool is_capacity = false;
  std::string domain;
  std::string id;
  std::uint32_t offset = 0;  // Of the dot or bracket before the id.
};

std::vector<Reference> FindReferences(const Ast& ast);

bool Has(const DeviceFacts& device, const Reference& reference);

// "did you mean productName?", by what the device has; empty when nothing is near.
std::string Suggest(const DeviceFacts& device, const Reference& reference);

}  // namespace tessera::cel
