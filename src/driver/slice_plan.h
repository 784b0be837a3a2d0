// driver/slice_plan.h: from the slices that are stored to those we want, in the fewest writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_slice.h"
#include "json/value.h"

namespace tessera::driver {

// What the server made of a write: fields of features that are off there are dropped without a word. Kept by the
// slice's name, so that the same is not written again and again.
struct Accepted {
  json::Value wanted, stored;  // spec
};

struct SliceWrite {
  std::string name;  // Empty when it is to be created.
  std::string uid, resource_version;
  json::Value object;  // Null when it is to be deleted.
};

struct SlicePlan {
  std::vector<SliceWrite> deletes, updates, creates;  // To be sent in this order.
  std::int64_t generation = 0;

  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
};

// `wanted` in the order they shall be tried; their pool generation and count are set here. `stored` are all slices of
// our driver on this node, whoever made them: they are updated in place, because monitoring forgets what it knows of a
// slice that is deleted.
//
// The scheduler takes slices in the order of their names, so contents are handed out to names in that order. The pool's
// generation stays when one slice alone changes; otherwise it grows by one, and every slice is written with it.
SlicePlan PlanSlices(const std::vector<api::ResourceSlice>& wanted, const std::vector<json::Value>& stored,
                     std::string_view version, const std::map<std::string, Accepted>& accepted);

// Text at a path of an object, such as {"metadata", "name"}; empty when it is not there.
std::string TextAt(const json::Value& object, std::initializer_list<std::string_view> path);

// Who wrote it last, from managedFields; empty when it does not say.
std::string LastManager(const json::Value& object);

}  // namespace tessera::driver
