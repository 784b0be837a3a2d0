// tests/support/openapi.h: checks JSON against the OpenAPI documents that Kubernetes publishes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace tessera::tests {

// One document of tests/testdata/openapi. Stricter than the API server: a field that the schema does not name is a fault,
// because the server would drop it.
class OpenApi {
 public:
  explicit OpenApi(const std::string& file);

  // What is wrong with `value` as the schema `type` ("io.k8s.api.resource.v1.ResourceSlice"), each with its path.
  std::vector<std::string> Check(const json::Value& value, std::string_view type) const;

 private:
  void CheckNode(const json::Value& value, const json::Object& unresolved, const std::string& path,
                 std::vector<std::string>& faults) const;
  const json::Object& Resolve(const json::Object& schema) const;

  json::Value document_;
};

}  // namespace tessera::tests
