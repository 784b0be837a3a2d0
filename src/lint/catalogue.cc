#include "lint/catalogue.h"

#include <algorithm>

#include "cel/lexer.h"
#include "manifests/builtin_classes.h"

namespace tessera::lint {
namespace {

bool IsKind(const manifests::Manifest& object, std::string_view kind) {
  return object.kind == kind && (object.api_version == "v1" || object.api_version.starts_with(kResourceGroup));
}

}  // namespace

const manifests::Manifest* Catalogue::Find(std::string_view kind, std::string_view namespace_name,
                                           std::string_view name) const {
  const auto found = std::ranges::find_if(objects_, [&](const manifests::Manifest& object) {
    const bool same_namespace =
        namespace_name.empty() || object.namespace_name.empty() || object.namespace_name == namespace_name;
    return IsKind(object, kind) && object.name == name && same_namespace;
  });
  return found == objects_.end() ? nullptr : &*found;
}

const manifests::Manifest* Catalogue::FindElsewhere(std::string_view kind, std::string_view name) const {
  return Find(kind, "", name);
}

Catalogue::Class Catalogue::ClassOf(std::string_view name) const {
  if (const manifests::Manifest* const object = Find("DeviceClass", "", name)) {
    return {.known = true, .selectors = SelectorsOf(Node(&object->value, "").Field("spec").Field("selectors"))};
  }
  for (const api::DeviceClass& builtin : manifests::BuiltinClasses()) {
    if (builtin.name != name) continue;
    Class found{.known = true, .builtin = true};
    for (const api::Selector& selector : builtin.selectors) found.selectors.push_back(selector.cel.value_or(""));
    return found;
  }
  return {};
}

std::string Catalogue::DriverOf(std::string_view class_name) const { return DriverIn(ClassOf(class_name).selectors); }

std::string DriverIn(std::span<const std::string> selectors) {
  for (const std::string& selector : selectors) {
    const auto tokens = cel::Tokenize(selector);
    for (std::size_t i = 0; tokens && i + 4 < tokens->size(); ++i) {
      const cel::Token* const at = &(*tokens)[i];
      const bool compares = at[0].IsWord("device") && at[1].Is(".") && at[2].IsWord("driver") && at[3].Is("==");
      if (!compares || at[4].kind != cel::TokenKind::kString) continue;
      if (auto driver = cel::Unquote(at[4])) return *std::move(driver);
    }
  }
  return std::string(kOurDriver);
}

std::vector<std::string> SelectorsOf(const Node& list) {
  std::vector<std::string> selectors;
  for (const Node& selector : list.Items()) {
    if (auto expression = selector.Field("cel").Field("expression").text()) selectors.push_back(*std::move(expression));
  }
  return selectors;
}

}  // namespace tessera::lint
