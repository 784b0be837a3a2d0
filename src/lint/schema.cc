#include "lint/schema.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"

namespace tessera::lint {
namespace {

std::string_view Wanted(Shape shape) {
  switch (shape) {
    case Shape::kText:
      return "text";
    case Shape::kInteger:
      return "an integer";
    case Shape::kBool:
      return "true or false";
    case Shape::kQuantity:
      return "a quantity";
    case Shape::kList:
      return "a list";
    case Shape::kAny:
      return "anything";
    case Shape::kObject:
    case Shape::kMap:
    case Shape::kQuantities:
      return "an object";
  }
  std::unreachable();
}

bool HasShape(const json::Value& value, Shape shape) {
  switch (shape) {
    case Shape::kAny:
      return true;
    case Shape::kText:
      return value.is_string();
    case Shape::kInteger:
      return Node(&value, "").integer().has_value();
    case Shape::kBool:
      return value.is_bool();
    case Shape::kQuantity:
      return value.is_number() || (value.is_string() && Quantity::Parse(value.get_string()).has_value());
    case Shape::kList:
      return value.is_array();
    case Shape::kObject:
    case Shape::kMap:
    case Shape::kQuantities:
      return value.is_object();
  }
  std::unreachable();
}

bool ExpectShape(Context& context, const Node& node, Shape shape) {
  if (HasShape(*node.value(), shape)) return true;
  const bool quoted = (node.value()->is_number() || node.value()->is_bool()) && shape == Shape::kText;
  context.Error(node, "WrongType", Format("expected {}, found {}", Wanted(shape), json::Describe(*node.value())),
                {.advice = quoted ? "put it in quotes" : ""});
  return false;
}

void CheckEntry(Context& context, const Node& entry, const Schema* of) {
  if (of != nullptr) return CheckShape(context, entry, *of);
  if (entry.exists()) ExpectShape(context, entry, Shape::kText);
}

void CheckGate(Context& context, const Node& node, const Gate& gate) {
  const cel::Release release = context.options.release;
  if (release < gate.since) {
    context.Error(node, "UnknownField", Format("Kubernetes {} does not know this field", ToString(release)),
                  {.advice = Format("it came with {}", ToString(gate.since))});
  } else if (!gate.ever_on || release < gate.default_on) {
    context.Warn(node, "GateOff",
                 Format("dropped without a word by a server of {} unless its feature gate {} is on", ToString(release),
                        gate.name),
                 {.advice = gate.ever_on ? Format("the gate is on by default from {} on", ToString(gate.default_on))
                                         : "the gate is off by default in every release so far"});
  }
}

void CheckContent(Context& context, const Node& node, const Field& field) {
  if (!ExpectShape(context, node, field.shape)) return;
  if (field.gate != nullptr) CheckGate(context, node, *field.gate);
  if (field.shape == Shape::kObject && field.of != nullptr) CheckShape(context, node, *field.of);
  if (field.shape == Shape::kList) {
    const auto items = node.Items();
    if (field.most != 0 && items.size() > field.most) {
      context.Error(node, "TooMany", Format("{} entries, but at most {} are allowed", items.size(), field.most));
    }
    for (const Node& item : items) CheckEntry(context, item, field.of);
  }
  for (const std::string& key : field.shape == Shape::kMap ? node.Keys() : std::vector<std::string>()) {
    CheckEntry(context, node.Key(key), field.of);
  }
  for (const std::string& key : field.shape == Shape::kQuantities ? node.Keys() : std::vector<std::string>()) {
    if (node.Key(key).exists()) ExpectShape(context, node.Key(key), Shape::kQuantity);
  }
}

void ReportUnknown(Context& context, const Node& node, const Schema& schema, std::string_view key) {
  const auto hint = std::ranges::find(schema.hints, key, &Hint::name);
  std::vector<std::string_view> names;
  std::vector<std::string> all;
  for (const Field& field : schema.fields) {
    names.push_back(field.name);
    all.emplace_back(field.name);
  }
  const auto near = NearMatch(key, names);
  std::string advice = hint != schema.hints.end() ? std::string(hint->advice)
                       : near                     ? Format("did you mean {}?", *near)
                                                  : Format("there are: {}", Join(all, ", "));
  context.Error(node.Field(key), "UnknownField", Format("there is no field {} here", Quote(Clip(key, 60))),
                {.advice = std::move(advice)});
}

}  // namespace

void CheckShape(Context& context, const Node& node, const Schema& schema) {
  if (node.exists() && !ExpectShape(context, node, Shape::kObject)) return;
  for (const Field& field : schema.fields) {
    const Node child = node.Field(field.name);
    if (child.exists()) {
      CheckContent(context, child, field);
    } else if (field.required) {
      context.Error(child, "MissingField", Format("{} is required", field.name));
    }
  }
  for (const std::string& key : node.Keys()) {
    if (std::ranges::find(schema.fields, key, &Field::name) == schema.fields.end()) {
      ReportUnknown(context, node, schema, key);
    }
  }
}

}  // namespace tessera::lint
