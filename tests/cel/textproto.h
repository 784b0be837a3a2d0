// tests/cel/textproto.h: protobuf's text format as a tree, without any schema: enough to read cel-spec's test files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cel {

struct Field;

// A message, or a scalar as text: strings are unquoted, everything else is as written.
struct Message {
  std::vector<Field> fields;

  std::vector<const Field*> All(std::string_view name) const;
  const Field* Find(std::string_view name) const;  // The first, or null.
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  std::string Text(std::string_view name) const;      // Of a scalar; empty when it is absent.
  const Message& Child(std::string_view name) const;  // An empty one when it is absent.
};

struct Field {
  std::string name;  // "[type.googleapis.com/x.Y]" for an Any.
  std::string text;
  Message message;
};

Message ParseTextproto(std::string_view text);  // Throws std::runtime_error with the line.

}  // namespace tessera::cel
