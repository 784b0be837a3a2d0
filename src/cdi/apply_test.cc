#include "cdi/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cdi {
namespace {

using ::testing::HasSubstr;

json::Value Json(std::string_view text) { return json::ParseJson(text).value(); }

Spec SpecWith(std::string kind, std::vector<Device> devices, Edits edits = {}) {
  return {.kind = std::move(kind), .devices = std::move(devices), .edits = std::move(edits)};
}

// The config after the edits of one device, or the error's text.
std::string Applied(std::string_view config, const Edits& edits) {
  json::Value value = Json(config);
  const std::vector<Spec> specs{SpecWith("v.io/c", {{"d", edits}})};
  const auto done = Apply(value, specs, std::vector<std::string>{"v.io/c=d"});
  return done.has_value() ? json::PrintJson(value) : done.error().Text();
}

struct Case {
  std::string_view name, config;
  Edits edits;
  std::string_view expected;
};

void CheckAll(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Applied(c.config, c.edits), json::PrintJson(Json(c.expected)));
  }
}

TEST(Apply, Environment) {
  CheckAll({
      {"into nothing", R"({})", {.env = {"A=1"}}, R"({"process":{"env":["A=1"]}})"},
      {"after what is there",
       R"({"process":{"env":["PATH=/bin"],"cwd":"/"}})",
       {.env = {"A=1", "B=x=y"}},
       R"({"process":{"env":["PATH=/bin","A=1","B=x=y"],"cwd":"/"}})"},
      {"the image's value is replaced, not shadowed",
       R"({"process":{"env":["NVIDIA_VISIBLE_DEVICES=all","NVIDIA_VISIBLE_DEVICES_X=1"]}})",
       {.env = {"NVIDIA_VISIBLE_DEVICES=void"}},
       R"({"process":{"env":["NVIDIA_VISIBLE_DEVICES=void","NVIDIA_VISIBLE_DEVICES_X=1"]}})"},
  });
}

TEST(Apply, DeviceNodes) {
  CheckAll({
      {"completed from the machine's node",
       R"({})",
       {.device_nodes = {{.path = "/dev/null"}}},
       R"({"linux":{"devices":[{"path":"/dev/null","type":"c","major":1,"minor":3,"fileMode":438}],
           "resources":{"devices":[{"allow":true,"type":"c","major":1,"minor":3,"access":"rwm"}]}}})"},
      {"looked up at its path on the host",
       R"({})",
       {.device_nodes = {{.path = "/dev/nvidia0", .host_path = "/dev/zero", .permissions = "r"}}},
       R"({"linux":{"devices":[{"path":"/dev/nvidia0","type":"c","major":1,"minor":5,"fileMode":438}],
           "resources":{"devices":[{"allow":true,"type":"c","major":1,"minor":5,"access":"r"}]}}})"},
      {"one that names type and major need not exist",
       R"({})",
       {.device_nodes = {{.path = "/dev/absent/cap1", .type = "c", .major = 241, .minor = 1, .file_mode = 292}}},
       R"({"linux":{"devices":[{"path":"/dev/absent/cap1","type":"c","major":241,"minor":1,"fileMode":292}],
           "resources":{"devices":[{"allow":true,"type":"c","major":241,"minor":1,"access":"rwm"}]}}})"},
      {"one with the same path is replaced",
       R"({"linux":{"devices":[{"path":"/dev/a","type":"c","major":9,"minor":9},{"path":"/dev/b"}]}})",
       {.device_nodes = {{.path = "/dev/a", .type = "c", .major = 7, .file_mode = 438}}},
       R"({"linux":{"devices":[{"path":"/dev/b"},{"path":"/dev/a","type":"c","major":7,"minor":0,"fileMode":438}],
           "resources":{"devices":[{"allow":true,"type":"c","major":7,"minor":0,"access":"rwm"}]}}})"},
      {"owned by the container's user unless the spec says otherwise",
       R"({"process":{"user":{"uid":1000,"gid":2000}}})",
       {.device_nodes = {{.path = "/dev/a", .type = "c", .major = 7, .file_mode = 432, .gid = 44}}},
       R"({"process":{"user":{"uid":1000,"gid":2000}},
           "linux":{"devices":[{"path":"/dev/a","type":"c","major":7,"minor":0,"fileMode":432,"gid":44,"uid":1000}],
           "resources":{"devices":[{"allow":true,"type":"c","major":7,"minor":0,"access":"rwm"}]}}})"},
      {"root is nobody special",
       R"({"process":{"user":{"uid":0,"gid":0}}})",
       {.device_nodes = {{.path = "/dev/a", .type = "c", .major = 7, .file_mode = 438}}},
       R"({"process":{"user":{"uid":0,"gid":0}},
           "linux":{"devices":[{"path":"/dev/a","type":"c","major":7,"minor":0,"fileMode":438}],
           "resources":{"devices":[{"allow":true,"type":"c","major":7,"minor":0,"access":"rwm"}]}}})"},
  });
}

TEST(Apply, Mounts) {
  const std::vector<std::string> options{"ro", "rbind"};
  CheckAll({
      {"sorted by depth, in their order where equal",
       R"({"mounts":[{"destination":"/etc/hosts"},{"destination":"/proc"}]})",
       {.mounts = {{"/h/b", "/b/c/d", options}, {"/h/a", "/a", {}}}},
       R"({"mounts":[{"destination":"/proc"},{"destination":"/a","source":"/h/a","options":[]},
           {"destination":"/etc/hosts"},{"destination":"/b/c/d","source":"/h/b","options":["ro","rbind"]}]})"},
      {"one at the same place is replaced",
       R"({"mounts":[{"destination":"/a","source":"old"}]})",
       {.mounts = {{"/new", "/a", {}}}},
       R"({"mounts":[{"destination":"/a","source":"/new","options":[]}]})"},
      {"with the container's ids in a user namespace",
       R"({"linux":{"namespaces":[{"type":"mount"},{"type":"user"}]}})",
       {.mounts =
            {{"/1", "/1", {"rbind"}}, {"/2", "/2", {"bind"}}, {"/3", "/3", {"bind", "ridmap"}}, {"/4", "/4", {}}}},
       R"({"linux":{"namespaces":[{"type":"mount"},{"type":"user"}]},"mounts":[
           {"destination":"/1","source":"/1","options":["rbind","ridmap"]},
           {"destination":"/2","source":"/2","options":["bind","idmap"]},
           {"destination":"/3","source":"/3","options":["bind","ridmap"]},
           {"destination":"/4","source":"/4","options":[]}]})"},
  });
}

TEST(Apply, HooksAndGroups) {
  CheckAll({
      {"hooks go behind those of their stage",
       R"({"hooks":{"createContainer":[{"path":"/first"}]}})",
       {.hooks = {{"createContainer", "/h", {"h", "x"}, {"A=1"}}, {"poststop", "/p", {}, {}}}},
       R"({"hooks":{"createContainer":[{"path":"/first"},{"path":"/h","args":["h","x"],"env":["A=1"]}],
           "poststop":[{"path":"/p"}]}})"},
      {"groups once, never root's",
       R"({"process":{"user":{"uid":0,"additionalGids":[5]}}})",
       {.additional_gids = {5, 0, 44, 44}},
       R"({"process":{"user":{"uid":0,"additionalGids":[5,44]}}})"},
      {"null is nothing",
       R"({"hooks":null,"process":null})",
       {.env = {"A=1"}},
       R"({"hooks":null,"process":{"env":["A=1"]}})"},
  });
}

TEST(Apply, RefusesAndChangesNothing) {
  struct Refusal {
    std::string_view name, config;
    Edits edits;
    std::string_view message;
  };
  const std::vector<Refusal> cases{
      {"an absent node", R"({})", {.env = {"A=1"}, .device_nodes = {{.path = "/dev/absent"}}}, "/dev/absent"},
      {"a node that is none", R"({})", {.device_nodes = {{.path = "/"}}}, "not a device node"},
      {"a node of another type", R"({})", {.device_nodes = {{.path = "/dev/null", .type = "b"}}}, "the spec says b"},
      {"a hook of no stage", R"({})", {.hooks = {{"soon", "/h", {}, {}}}}, "\"soon\""},
      {"a config of another shape", R"({"process":[]})", {.env = {"A=1"}}, "process is not an object"},
      {"a list that is none", R"({"mounts":{}})", {.mounts = {{"/a", "/a", {}}}}, "mounts is not a list"},
      {"no config", R"([1])", {.env = {"A=1"}}, "not an object"},
  };
  for (const Refusal& c : cases) {
    SCOPED_TRACE(c.name);
    json::Value config = Json(c.config);
    const std::vector<Spec> specs{SpecWith("v.io/c", {{"d", c.edits}})};
    const auto done = Apply(config, specs, std::vector<std::string>{"v.io/c=d"});
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().Text(), HasSubstr(c.message));
    EXPECT_EQ(config, Json(c.config));
  }
}

TEST(Apply, SpecEditsComeOnceAndBeforeTheirDevices) {
  const Hook base{"createContainer", "/base", {}, {}}, one{"createContainer", "/one", {}, {}},
      two{"createContainer", "/two", {}, {}}, other{"createContainer", "/other", {}, {}};
  const std::vector<Spec> specs{
      SpecWith("v.io/a", {{"1", {.hooks = {one}}}, {"2", {.hooks = {two}}}, {"unused", {.env = {"U=1"}}}},
               {.hooks = {base}}),
      SpecWith("v.io/b", {{"1", {.hooks = {other}}}}),
      SpecWith("v.io/idle", {{"1", {.env = {"I=1"}}}}, {.env = {"I=2"}}),
  };
  json::Value config = Json("{}");
  ASSERT_TRUE(Apply(config, specs, std::vector<std::string>{"v.io/b=1", "v.io/a=2", "v.io/a=1"}).has_value());
  EXPECT_EQ(
      config,
      Json(R"({"hooks":{"createContainer":[{"path":"/other"},{"path":"/base"},{"path":"/two"},{"path":"/one"}]}})"));
}

TEST(Apply, NamesEveryUnresolvableDevice) {
  const std::vector<Spec> specs{
      SpecWith("v.io/a", {{"1", {.env = {"A=1"}}}, {"twice", {.env = {"A=1"}}}}),
      SpecWith("v.io/a", {{"twice", {.env = {"A=2"}}}}),
  };
  json::Value config = Json("{}");
  const auto done = Apply(config, specs, std::vector<std::string>{"v.io/a=1", "v.io/a=2", "v.io/a=twice", "nonsense"});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code(), "UnresolvableDevices");
  EXPECT_THAT(done.error().message(), HasSubstr("unresolvable CDI devices v.io/a=2, v.io/a=twice, nonsense"));
  EXPECT_EQ(config, Json("{}"));
}

TEST(Apply, NothingAskedNothingDone) {
  json::Value config = Json(R"({"ociVersion":"1.0.2"})");
  ASSERT_TRUE(Apply(config, {}, {}).has_value());
  EXPECT_EQ(config, Json(R"({"ociVersion":"1.0.2"})"));
}

}  // namespace
}  // namespace tessera::cdi
