// lint/node.h: a value with its path, for rules that walk an object. Every step is allowed: what is not there has no
// fields, no items and no text, and still knows its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

namespace tessera::lint {

class Node {
 public:
  Node() = default;
  // `value` must outlive the node; null when there is none.
  Node(const json::Value* value, std::string path) : value_(value), path_(std::move(path)) {}

  // A null counts as absent, as in the Kubernetes API.
  bool exists() const { return value_ != nullptr && !value_->is_null(); }
  const json::Value* value() const { return exists() ? value_ : nullptr; }
  const std::string& path() const { return path_; }

  Node Field(std::string_view key) const;
  Node Key(std::string_view key) const;  // The same for a map, whose keys are quoted in paths.
  std::vector<Node> Items() const;
  std::vector<std::string> Keys() const;

  const json::Object* object() const { return value_ != nullptr ? value_->if_object() : nullptr; }
  std::optional<std::string> text() const;
  std::string TextOr(std::string_view otherwise) const { return text().value_or(std::string(otherwise)); }
  std::optional<std::int64_t> integer() const;
  bool IsTrue() const;

 private:
  const json::Value* Find(std::string_view key) const;

  const json::Value* value_ = nullptr;
  std::string path_;
};

}  // namespace tessera::lint
