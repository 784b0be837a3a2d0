// tests/standin/apply.h: server-side apply of a ResourceClaim's status.devices, a list whose keys are driver, device, pool
// and shareID.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "json/value.h"
#include "tests/standin/http.h"
#include "tests/standin/store.h"

namespace tessera::standin {

// Remembers which manager applied which entries, as managedFields do. Fields inside of an entry have no owners: an entry
// that is applied replaces what it names, and of conditions those of its types. The caller holds a lock.
class AppliedDevices {
 public:
  // `merged` gets status.devices of `before` with what `patch` says of them. An entry without such a device in the
  // allocation is refused.
  std::optional<Answer> Apply(const Key& key, const std::string& manager, const json::Object& before,
                              const json::Object& patch, json::Object& merged);

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::string>> owned_;  // By the claim's UID and manager.
};

}  // namespace tessera::standin
