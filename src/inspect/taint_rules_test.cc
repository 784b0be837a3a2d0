// What Kubernetes' tracker of DeviceTaintRules is tested with, as cases of our own: tests/testdata/taint_rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "alloc/checks.h"
#include "base/fd.h"
#include "base/text.h"
#include "inspect/explain_situation.h"
#include "json/decode.h"
#include "tests/support/paths.h"

namespace tessera::inspect {

using TextsByDevice = std::map<std::string, std::vector<std::string>>;  // "driver/pool/device" → "key=value:effect".

struct CaseSelector {
  std::optional<std::string> driver, pool, device;
};
template <class F>
void Describe(F& f, CaseSelector& s) {
  f.Optional("driver", s.driver);
  f.Optional("pool", s.pool);
  f.Optional("device", s.device);
}

struct CaseRule {
  std::optional<CaseSelector> selector;
  std::string taint;
};
template <class F>
void Describe(F& f, CaseRule& r) {
  f.Optional("selector", r.selector);
  f.Required("taint", r.taint);
}

struct TaintRuleCase {
  std::string name;
  std::vector<std::string> releases{"1.36", "1.37"};
  TextsByDevice devices, want;
  std::vector<CaseRule> rules;
  std::optional<std::vector<std::string>> usable;
};
template <class F>
void Describe(F& f, TaintRuleCase& c) {
  f.Required("case", c.name);
  f.Optional("releases", c.releases);
  f.Required("devices", c.devices);
  f.Required("rules", c.rules);
  f.Required("want", c.want);
  f.Optional("usable", c.usable);
}

namespace {

api::Taint TaintOf(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view name = std::string_view(text).substr(0, colon);
  const auto [key, value] = Cut(name, "=").value_or(std::pair(name, std::string_view()));
  return {.key = std::string(key), .value = std::string(value), .effect = text.substr(colon + 1)};
}

manifests::Objects ObjectsOf(const TaintRuleCase& given) {
  manifests::Objects objects;
  for (const auto& [id, taints] : given.devices) {
    const auto names = Split(id, '/');
    manifests::Slice& slice = objects.slices.emplace_back();
    slice.object.driver = names.at(0);
    slice.object.pool_name = names.at(1);
    api::Device& device = slice.object.devices.emplace_back();
    device.name = names.at(2);
    std::ranges::transform(taints, std::back_inserter(device.taints), TaintOf);
  }
  for (const CaseRule& rule : given.rules) {
    const CaseSelector selector = rule.selector.value_or(CaseSelector{});
    objects.taint_rules.push_back({.origin = {},
                                   .name = "r",
                                   .has_selector = rule.selector.has_value(),
                                   .driver = selector.driver,
                                   .pool = selector.pool,
                                   .device = selector.device,
                                   .taint = TaintOf(rule.taint)});
  }
  return objects;
}

void Check(const TaintRuleCase& given, cel::Release release) {
  const alloc::Rules rules = alloc::RulesFor(release);
  const Situation situation = MakeSituation(ObjectsOf(given), {}, rules);
  TextsByDevice found;
  std::vector<std::string> usable;
  for (const api::ResourceSlice& slice : *situation.slices) {
    const api::Device& device = slice.devices.front();
    const std::string id = Format("{}/{}/{}", slice.driver, slice.pool_name, device.name);
    std::vector<std::string>& texts = found[id];
    for (const api::Taint& taint : device.taints) texts.push_back(api::ToText(taint));
    if (alloc::FirstUntolerated(device, {}, rules) == nullptr) usable.push_back(id);
  }
  EXPECT_EQ(found, given.want);
  if (given.usable) {
    EXPECT_EQ(usable, *given.usable);
  }
}

TEST(TaintRules, TaintWhatTheySelect) {
  const std::map<std::string, cel::Release> releases{{"1.34", cel::Release::k1_34},
                                                     {"1.35", cel::Release::k1_35},
                                                     {"1.36", cel::Release::k1_36},
                                                     {"1.37", cel::Release::k1_37}};
  const auto text = ReadFile(TESSERA_SOURCE_DIR "/tests/testdata/taint_rules/cases.yaml").value();
  const auto values = json::ParseYaml(text).value();
  ASSERT_FALSE(values.empty());
  for (const json::Value& value : values) {
    const auto given = json::Decode<TaintRuleCase>(value, json::Unknown::kReject);
    ASSERT_TRUE(given.has_value()) << given.error().Text();
    for (const std::string& release : given->releases) {
      SCOPED_TRACE(Format("{}, {}", given->name, release));
      Check(*given, releases.at(release));
    }
  }
}

}  // namespace
}  // namespace tessera::inspect
