// lint/schema.h: which fields an object may have, as data, and what is wrong with one that has others.
//
// The API server decodes strictly for kubectl, so an unknown field is refused. One whose feature gate is off by default
// is worse: it is dropped without a word.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/environment.h"
#include "lint/context.h"
#include "lint/node.h"

namespace tessera::lint {

enum class Shape : std::uint8_t {
  kAny,
  kText,
  kInteger,
  kBool,
  kQuantity,
  kObject,
  kList,        // Of `of`, or of texts.
  kMap,         // Of `of`, or of texts.
  kQuantities,  // A map of them.
};

// A feature gate that a field needs.
struct Gate {
  std::string_view name;
  cel::Release since;       // Servers before do not know the field.
  bool ever_on = true;      // Whether some release has it on by default …
  cel::Release default_on;  // … and from which on.
};

struct Schema;
struct Field {
  std::string_view name;
  Shape shape = Shape::kAny;
  const Schema* of = nullptr;
  bool required = false;
  std::size_t most = 0;  // Entries of a list; 0: any number.
  const Gate* gate = nullptr;
};

// What to say about a field that does not belong here and often is put here.
struct Hint {
  std::string_view name, advice;
};

struct Schema {
  std::span<const Field> fields;
  std::span<const Hint> hints = {};
};

// Unknown fields, wrong types, what is missing, too long lists, gates.
void CheckShape(Context& context, const Node& node, const Schema& schema);

extern const Schema kClaimSchema, kFlatClaimSchema;         // ResourceClaim: v1 and v1beta2, v1beta1
extern const Schema kTemplateSchema, kFlatTemplateSchema;   // ResourceClaimTemplate
extern const Schema kClassSchema;                           // DeviceClass
extern const Schema kTaintRuleSchema, kOldTaintRuleSchema;  // DeviceTaintRule: from 1.35 on, and 1.34
extern const Schema kSliceSchema;                           // ResourceSlice of v1 and v1beta2
extern const Schema kPodClaimSchema;                        // An entry of a pod's spec.resourceClaims
extern const Schema kContainerClaimSchema;                  // An entry of a container's resources.claims

}  // namespace tessera::lint
