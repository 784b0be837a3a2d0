// YAML of strangers: what is read prints as YAML that means the same.
#include "json/value.h"
#include "tests/fuzz/target.h"

namespace tessera {

void Fuzz(std::string_view input) {
  const auto documents = json::ParseYaml(input);
  if (!documents) return;
  for (const json::Value& document : *documents) {
    const auto again = json::ParseYaml(json::PrintYaml(document));
    Require(again.has_value() && again->size() == 1, "what we print can be read");
    Require(json::PrintJson(again->front()) == json::PrintJson(document), "and means the same");
  }
}

}  // namespace tessera
