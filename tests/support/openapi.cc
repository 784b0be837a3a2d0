#include "tests/support/openapi.h"

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

std::string_view Text(const json::Value& value) { return value.as_string(); }

bool HasType(const json::Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  return false;
}

}  // namespace

OpenApi::OpenApi(const std::string& file)
    : document_(json::ParseJson(ReadFile(TESSERA_SOURCE_DIR "/tests/testdata/openapi/" + file).value()).value()) {}

std::vector<std::string> OpenApi::Check(const json::Value& value, std::string_view type) const {
  std::vector<std::string> faults;
  CheckNode(value, document_.at("components").at("schemas").at(type).as_object(), "", faults);
  return faults;
}

const json::Object& OpenApi::Resolve(const json::Object& schema) const {
  constexpr std::string_view kPrefix = "#/components/schemas/";
  const json::Value* reference = schema.if_contains("$ref");
  if (reference == nullptr) return schema;
  return document_.at("components").at("schemas").at(Text(*reference).substr(kPrefix.size())).as_object();
}

void OpenApi::CheckNode(const json::Value& value, const json::Object& unresolved, const std::string& path,
                        std::vector<std::string>& faults) const {
  const json::Object& schema = Resolve(unresolved);
  if (const json::Value* all = schema.if_contains("allOf")) {
    for (const json::Value& part : all->as_array()) CheckNode(value, part.as_object(), path, faults);
  }
  if (const json::Value* one = schema.if_contains("oneOf")) {
    bool fits = false;
    for (const json::Value& part : one->as_array()) {
      std::vector<std::string> part_faults;
      CheckNode(value, part.as_object(), path, part_faults);
      fits = fits || part_faults.empty();
    }
    if (!fits) faults.push_back(path + ": fits none of the allowed forms");
  }
  if (const json::Value* type = schema.if_contains("type"); type != nullptr && !HasType(value, Text(*type))) {
    faults.push_back(Format("{}: expected {}, found {}", path, Text(*type), json::TypeName(value)));
    return;
  }
  if (const json::Array* array = value.if_array()) {
    const json::Value* items = schema.if_contains("items");
    for (std::size_t i = 0; items != nullptr && i < array->size(); ++i) {
      CheckNode((*array)[i], items->as_object(), Format("{}[{}]", path, i), faults);
    }
  }
  if (const json::Object* object = value.if_object()) {
    if (const json::Value* required = schema.if_contains("required")) {
      for (const json::Value& key : required->as_array()) {
        if (!object->contains(Text(key))) faults.push_back(Format("{}.{}: required", path, Text(key)));
      }
    }
    const json::Value* properties = schema.if_contains("properties");
    const json::Value* additional = schema.if_contains("additionalProperties");
    for (const auto& item : *object) {
      const std::string key(item.key());
      const json::Value* member = properties == nullptr ? nullptr : properties->as_object().if_contains(key);
      if (member == nullptr && additional != nullptr && additional->is_object()) member = additional;
      if (member != nullptr) {
        CheckNode(item.value(), member->as_object(), path + "." + key, faults);
      } else if (properties != nullptr) {
        faults.push_back(Format("{}.{}: no such field", path, key));
      }
    }
  }
}

}  // namespace tessera::tests
