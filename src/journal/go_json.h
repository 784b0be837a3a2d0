// journal/go_json.h: JSON as Go programs write it, byte for byte, and the kubelet library's checksum of it.
//
// The Go driver believes its checkpoint only if decoding it into its structs and encoding these again gives the bytes
// that the checksum was taken of. So what we write for it must go through that unchanged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace tessera::journal {

// A Go type, as far as encoding/json cares.
struct GoField;
struct GoType {
  enum class Kind : std::uint8_t {
    kText,
    kFlag,
    kInteger,
    kTime,      // metav1.Time: RFC 3339 in UTC without fractions, or null.
    kQuantity,  // resource.Quantity: in canonical form.
    kRaw,       // runtime.RawExtension: any JSON, as it is.
    kList,
    kMap,  // Keys are sorted.
    kStruct,
  };
  Kind kind;
  const GoType* element = nullptr;       // Of a list or map.
  std::span<const GoField> fields = {};  // Of a struct, in the order of its declaration.
};
struct GoField {
  std::string_view name;
  const GoType* type;
  bool is_pointer = false;  // Absent is nil, and not the type's zero.
  bool omit_empty = false;
};

// What Go has after decoding `value` into `type` and encoding it again. What does not fit counts as absent, where Go
// would refuse the whole.
json::Value ThroughGo(const GoType& type, const json::Value& value);

// Compact, with <, >, &, U+2028 and U+2029 escaped.
std::string PrintGoJson(const json::Value& value);

// k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum of a byte slice: FNV-1a (32 bits) of what go-spew prints
// for it, "([]uint8)[123 34 … 125]".
std::uint32_t GoChecksum(std::string_view json);

}  // namespace tessera::journal
