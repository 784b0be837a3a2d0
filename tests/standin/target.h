// tests/standin/target.h: what a request is about: the object or collection its path names, and its field selector.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "tests/standin/store.h"

namespace tessera::standin {

struct Target {
  Key key;
  std::string version;      // "v1", "v1beta1": of the API.
  std::string subresource;  // "status", or empty.

  bool is_collection() const { return key.name.empty(); }
  std::string api_version() const { return key.group.empty() ? version : key.group + "/" + version; }
};

// "/api/v1/namespaces/a/pods/b", "/apis/resource.k8s.io/v1/resourceslices". Nothing when no resource is named.
std::optional<Target> ParseTarget(std::string_view path);

// "spec.nodeName=a,spec.driver!=b".
class FieldSelector {
 public:
  // Text that says why it is refused, as the API server puts it, or the selector.
  static std::expected<FieldSelector, std::string> Parse(std::string_view text);
  bool Matches(const json::Value& object) const;  // An absent field counts as the empty string.

 private:
  struct Term {
    std::string path, value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

// "ResourceSlice" of "resourceslices"; empty when not known.
std::string_view KindOf(std::string_view resource);

}  // namespace tessera::standin
