// json/value.h: JSON values, read strictly and printed the same way every time.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::json {

using Value = boost::json::value;
using Object = boost::json::object;  // Keeps the order of its keys.
using Array = boost::json::array;
using String = boost::json::string;
using Storage = boost::json::storage_ptr;  // Where values have their memory; the heap, unless said otherwise.

// What we take from outside. A ResourceSlice is at most 1.2 MB; nothing legitimate is deeper than this.
inline constexpr std::size_t kMaxDepth = 64;
// After aliases are expanded: no "billion laughs".
inline constexpr std::size_t kMaxYamlNodes = 1'000'000;
inline constexpr std::size_t kMaxYamlBytes = std::size_t{64} << 20;

// One JSON document. Refuses duplicate keys, invalid UTF-8, trailing text, depth over kMaxDepth. The error says
// line and column.
Result<Value> ParseJson(std::string_view text);

// All documents of a YAML stream, empty ones left out. Scalars resolve as Kubernetes does (YAML 1.1 booleans
// included); duplicate keys, unknown tags and keys that are not scalars are refused. JSON is YAML, so this reads both.
Result<std::vector<Value>> ParseYaml(std::string_view text);

// Where a value begins in its text; shaped like the value: an object's values or an array's items, in their order.
struct Mark {
  std::uint32_t line = 0;  // Of its key, where it has one; from 1.
  std::vector<Mark> parts;
};

struct MarkedDocument {
  Value value;
  Mark mark;
  std::size_t number = 0;  // In its stream, from 1; empty documents count.
};

// The same, with lines.
Result<std::vector<MarkedDocument>> ParseMarkedYaml(std::string_view text);

// The line of `path` ("spec.requests[0].count", as json/decode.h writes it) or, where it ends early, of its deepest part.
std::size_t LineOf(const Value& value, const Mark& mark, std::string_view path);

// Keys in their own order. `indent` 0 is one line; otherwise that many spaces a level.
std::string PrintJson(const Value& value, int indent = 0);

// Block style, as kubectl prints it, with a final newline.
std::string PrintYaml(const Value& value);

// "object", "array", "string", "integer", "number", "boolean", "null": for messages.
std::string_view TypeName(const Value& value);

// A short rendering for messages: `"two"`, `3`, `object`. Never longer than a line.
std::string Describe(const Value& value);

}  // namespace tessera::json
