#include "json/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::json {
namespace {

using ::testing::HasSubstr;

enum class Mode : std::uint8_t { kExact, kAll };
bool FromText(std::string_view text, Mode& mode) {
  mode = text == "All" ? Mode::kAll : Mode::kExact;
  return text == "All" || text == "ExactCount";
}
std::string ToText(Mode mode) { return mode == Mode::kAll ? "All" : "ExactCount"; }

struct Request {
  std::string name;
  std::int32_t count = 1;
  std::optional<bool> admin;
  Mode mode = Mode::kExact;
  bool operator==(const Request&) const = default;
};
template <class F>
void Describe(F& f, Request& r) {
  f.Required("name", r.name);
  f.Optional("count", r.count);
  f.Optional("adminAccess", r.admin);
  f.Optional("mode", r.mode);
  f.Check(r.count > 0, "count", "must be positive");
}

struct Spec {
  std::vector<Request> requests;
  std::map<std::string, std::uint8_t> limits;
  bool operator==(const Spec&) const = default;
};
template <class F>
void Describe(F& f, Spec& s) {
  f.Required("requests", s.requests);
  f.Optional("limits", s.limits);
}

std::string ErrorOf(std::string_view text, Unknown unknown = Unknown::kReject) {
  const auto spec = Decode<Spec>(ParseJson(text).value(), unknown, "spec.devices");
  return spec.has_value() ? "" : spec.error().message();
}

TEST(Decode, ReadsAndWritesBack) {
  constexpr std::string_view kText =
      R"({"requests":[{"name":"a","count":2,"adminAccess":true,"mode":"All"}],"limits":{"x":7}})";
  const auto spec = Decode<Spec>(ParseJson(kText).value());
  ASSERT_TRUE(spec.has_value()) << spec.error().message();
  EXPECT_EQ(*spec, (Spec{{{"a", 2, true, Mode::kAll}}, {{"x", 7}}}));
  EXPECT_EQ(PrintJson(Encode(*spec)), kText);
}

TEST(Decode, LeavesOutWhatIsEmptyAndTakesNullAsAbsent) {
  const auto spec = Decode<Spec>(ParseJson(R"({"requests":[{"name":"a","count":null}],"limits":null})").value());
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(PrintJson(Encode(*spec)), R"({"requests":[{"name":"a","count":1,"mode":"ExactCount"}]})");
}

TEST(Decode, PointsAtTheField) {
  struct Case {
    std::string_view text, error;
  };
  constexpr std::array kCases{
      Case{R"({"requests":[{"name":"a","count":"two"}]})",
           "spec.devices.requests[0].count: expected integer, found \"two\""},
      Case{R"({"requests":[{"name":"a"},{"name":3}]})", "spec.devices.requests[1].name: expected string, found 3"},
      Case{R"({"requests":[{}]})", "spec.devices.requests[0].name: required field is missing"},
      Case{R"({"requests":{}})", "spec.devices.requests: expected array, found object"},
      Case{R"([])", "spec.devices: expected object, found array"},
      Case{R"({"requests":[{"name":"a","count":3000000000}]})",
           "spec.devices.requests[0].count: 3000000000 is out of range"},
      Case{R"({"requests":[{"name":"a","count":0}]})", "spec.devices.requests[0].count: must be positive"},
      Case{R"({"requests":[{"name":"a","count":1.5}]})", "spec.devices.requests[0].count: expected integer, found 1.5"},
      Case{R"({"requests":[{"name":"a","mode":"Some"}]})",
           "spec.devices.requests[0].mode: \"Some\" is not a valid value"},
      Case{R"({"requests":[],"limits":{"x":256}})", "spec.devices.limits[\"x\"]: 256 is out of range"},
      Case{R"({"requests":[{"name":"a","cuont":1}]})",
           "spec.devices.requests[0].cuont: unknown field; did you mean \"count\"?"},
      Case{R"({"requests":[],"zzz":1})", "spec.devices.zzz: unknown field"},
  };
  for (const Case& c : kCases) EXPECT_EQ(ErrorOf(c.text), c.error);
}

TEST(Decode, ReportsEverythingAtOnce) {
  EXPECT_THAT(ErrorOf(R"({"requests":[{"count":"x"},{"name":true}]})"),
              testing::AllOf(HasSubstr("requests[0].name: required"), HasSubstr("requests[0].count: expected integer"),
                             HasSubstr("requests[1].name: expected string")));
}

TEST(Decode, IgnoresUnknownFieldsWhenTold) {
  EXPECT_EQ(ErrorOf(R"({"requests":[{"name":"a","new":1}],"newer":{}})", Unknown::kIgnore), "");
}

TEST(Decode, AFloodOfFaultsStaysReadable) {
  std::string text = R"({"requests":[)";
  for (int i = 0; i < 5000; ++i) text += "1,";
  text += "1]}";
  const std::string error = ErrorOf(text);
  EXPECT_LT(error.size(), 4000U);
  EXPECT_THAT(error, HasSubstr("and more"));
}

}  // namespace
}  // namespace tessera::json
