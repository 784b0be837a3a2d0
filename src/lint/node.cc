#include "lint/node.h"

#include <cmath>

#include "base/text.h"

namespace tessera::lint {

const json::Value* Node::Find(std::string_view key) const {
  const json::Object* const fields = object();
  return fields != nullptr ? fields->if_contains(key) : nullptr;
}

Node Node::Field(std::string_view key) const {
  return {Find(key), path_.empty() ? std::string(key) : Format("{}.{}", path_, key)};
}

Node Node::Key(std::string_view key) const { return {Find(key), Format("{}[{}]", path_, Quote(key))}; }

std::vector<Node> Node::Items() const {
  std::vector<Node> items;
  const json::Array* const array = value_ != nullptr ? value_->if_array() : nullptr;
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    items.emplace_back(&(*array)[i], Format("{}[{}]", path_, i));
  }
  return items;
}

std::vector<std::string> Node::Keys() const {
  std::vector<std::string> keys;
  if (const json::Object* const fields = object()) {
    for (const auto& field : *fields) keys.emplace_back(field.key());
  }
  return keys;
}

std::optional<std::string> Node::text() const {
  const json::String* const text = value_ != nullptr ? value_->if_string() : nullptr;
  return text != nullptr ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<std::int64_t> Node::integer() const {
  if (value_ == nullptr) return std::nullopt;
  if (const std::int64_t* const number = value_->if_int64()) return *number;
  // kubectl makes JSON of YAML, and "1" of "1.0".
  constexpr double kExact = 1LL << 53;
  const double* const number = value_->if_double();
  if (number == nullptr || *number != std::trunc(*number) || std::abs(*number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool Node::IsTrue() const {
  const bool* const flag = value_ != nullptr ? value_->if_bool() : nullptr;
  return flag != nullptr && *flag;
}

}  // namespace tessera::lint
