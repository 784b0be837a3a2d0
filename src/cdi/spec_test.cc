#include "cdi/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tessera::cdi {
namespace {

using ::testing::HasSubstr;

Spec Plain() {
  return {.kind = "k8s.gpu.nvidia.com/claim",
          .devices = {{"gpu-0", Edits{.device_nodes = {{.path = "/dev/nvidia0"}}}}}};
}

Spec With(const std::function<void(Spec&)>& change) {
  Spec spec = Plain();
  change(spec);
  return spec;
}

Hook GoodHook() { return {.name = "createContainer", .path = "/opt/hook", .args = {"hook", "x"}, .env = {"A=b"}}; }

TEST(Spec, ValidateFindsWhatRuntimesRefuse) {
  struct Case {
    std::string_view name;
    std::function<void(Spec&)> change;
    std::string_view fault;  // Empty: none.
  };
  const Case cases[] = {
      {"as it is", [](Spec&) {}, ""},
      {"no class", [](Spec& s) { s.kind = "nvidia.com"; }, "not of the form vendor/class"},
      {"vendor starts with a digit", [](Spec& s) { s.kind = "0.com/gpu"; }, "not of the form vendor/class"},
      {"class ends with a dash", [](Spec& s) { s.kind = "nvidia.com/gpu-"; }, "not of the form vendor/class"},
      {"slash in the class", [](Spec& s) { s.kind = "nvidia.com/gpu/x"; }, "not of the form vendor/class"},
      {"dot in the class", [](Spec& s) { s.kind = "nvidia.com/gpu.x"; }, ""},
      {"no devices", [](Spec& s) { s.devices.clear(); }, "there are no devices"},
      {"device with every sign", [](Spec& s) { s.devices[0].name = "1:0_a-b.c"; }, ""},
      {"device with one letter", [](Spec& s) { s.devices[0].name = "x"; }, ""},
      {"device without a name", [](Spec& s) { s.devices[0].name = ""; }, "device \"\" is not a valid name"},
      {"old MIG UUID", [](Spec& s) { s.devices[0].name = "MIG-GPU-1/3/0"; }, "is not a valid name"},
      {"device ends with a colon", [](Spec& s) { s.devices[0].name = "a:"; }, "is not a valid name"},
      {"device twice", [](Spec& s) { s.devices.push_back(s.devices[0]); }, "device \"gpu-0\" is there twice"},
      {"empty device", [](Spec& s) { s.devices[0].edits = {}; }, "device \"gpu-0\" has no edits"},
      {"variable without a name", [](Spec& s) { s.edits.env = {"=x"}; }, "not of the form NAME=value"},
      {"variable without a value", [](Spec& s) { s.edits.env = {"X"}; }, "not of the form NAME=value"},
      {"empty value", [](Spec& s) { s.edits.env = {"X="}; }, ""},
      {"node without a path", [](Spec& s) { s.edits.device_nodes = {{}}; }, "device node \"\" is empty"},
      {"node of no type", [](Spec& s) { s.edits.device_nodes = {{.path = "/x", .type = "x"}}; }, "type other than"},
      {"file type in the mode", [](Spec& s) { s.edits.device_nodes = {{.path = "/x", .file_mode = 020666}}; },
       "more than permission bits"},
      {"permission none", [](Spec& s) { s.edits.device_nodes = {{.path = "/x", .permissions = "none"}}; },
       "permissions other than"},
      {"mount from nowhere", [](Spec& s) { s.edits.mounts = {{"", "/x", {}}}; }, "mount from \"\" is empty"},
      {"mount to nowhere", [](Spec& s) { s.edits.mounts = {{"/x", "", {}}}; }, "mount at \"\" is empty"},
      {"a good hook", [](Spec& s) { s.edits.hooks = {GoodHook()}; }, ""},
      {"unknown hook", [](Spec& s) { (s.edits.hooks = {GoodHook()})[0].name = "create"; }, "not one of OCI's"},
      {"relative hook", [](Spec& s) { (s.edits.hooks = {GoodHook()})[0].path = "hook"; }, "is not absolute"},
      {"hook with the image's environment", [](Spec& s) { (s.edits.hooks = {GoodHook()})[0].env.clear(); },
       "no environment of its own"},
      {"line end in a path", [](Spec& s) { s.edits.mounts = {{"/a\nb", "/x", {}}}; }, "control characters"},
      {"YAML's own line end", [](Spec& s) { s.edits.mounts = {{"/a\u2028b", "/x", {}}}; }, "line ends"},
      {"other letters", [](Spec& s) { s.edits.mounts = {{"/gerät", "/x", {}}}; }, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto verdict = Validate(With(c.change));
    EXPECT_EQ(verdict.has_value(), c.fault.empty());
    if (verdict.has_value()) continue;
    EXPECT_EQ(verdict.error().code(), "BadCdiSpec");
    EXPECT_THAT(verdict.error().message(), HasSubstr(c.fault));
  }
}

TEST(Spec, ValidateNamesAllFaults) {
  const auto verdict = Validate({.kind = "x", .devices = {{"-", {}}}});
  ASSERT_FALSE(verdict.has_value());
  EXPECT_THAT(verdict.error().message(), HasSubstr("kind \"x\" is not of the form vendor/class; device \"-\" is not a "
                                                   "valid name; device \"-\" has no edits"));
}

TEST(Spec, MinimumVersionIsTheOldestThatKnowsTheContent) {
  struct Case {
    std::string_view name;
    std::function<void(Spec&)> change;
    std::string_view version;
  };
  const Case cases[] = {
      {"plain", [](Spec&) {}, "0.3.0"},
      {"fully specified node",
       [](Spec& s) { s.edits.device_nodes = {{.path = "/x", .type = "c", .major = 1, .minor = 0}}; }, "0.3.0"},
      {"digit first", [](Spec& s) { s.devices[0].name = "0"; }, "0.5.0"},
      {"host path of a device's node", [](Spec& s) { s.devices[0].edits.device_nodes[0].host_path = "/y"; }, "0.5.0"},
      {"host path of a common node", [](Spec& s) { s.edits.device_nodes = {{.path = "/x", .host_path = "/y"}}; },
       "0.5.0"},
      {"dot in the class", [](Spec& s) { s.kind = "nvidia.com/gpu.x"; }, "0.6.0"},
      {"groups", [](Spec& s) { s.devices[0].edits.additional_gids = {44}; }, "0.7.0"},
      {"everything",
       [](Spec& s) {
         s.kind = "nvidia.com/gpu.x";
         s.edits.additional_gids = {44};
       },
       "0.7.0"},
  };
  for (const Case& c : cases) EXPECT_EQ(MinimumVersion(With(c.change)), c.version) << c.name;
}

Spec Full() {
  return {.kind = "k8s.gpu.nvidia.com/claim",
          .devices = {{"1e3", Edits{.device_nodes = {{.path = "/dev/nvidia0",
                                                      .host_path = "/run/nvidia/driver/dev/nvidia0",
                                                      .major = 195,
                                                      .minor = 0,
                                                      .file_mode = 0666,
                                                      .permissions = "rwm",
                                                      .gid = 44}},
                                    .additional_gids = {44}}}},
          .edits = {
              .env = {"A=b", "EMPTY="},
              .mounts = {{"/lib/a", "/b", {"ro", "rbind"}}},
              .hooks = {
                  {.name = "createContainer", .path = "/h", .args = {"h", "no", "--link", "a::/b"}, .env = {"X=y"}}}}};
}

TEST(Spec, PrintsYamlThatGoReadsAsMeant) {
  EXPECT_EQ(Print(Full(), "tessera: about this file"),
            "# tessera: about this file\n"
            "cdiVersion: 0.7.0\n"
            "kind: k8s.gpu.nvidia.com/claim\n"
            "devices:\n"
            "- name: \"1e3\"\n"
            "  containerEdits:\n"
            "    deviceNodes:\n"
            "    - path: /dev/nvidia0\n"
            "      hostPath: /run/nvidia/driver/dev/nvidia0\n"
            "      major: 195\n"
            "      minor: 0\n"
            "      fileMode: 438\n"
            "      permissions: rwm\n"
            "      gid: 44\n"
            "    additionalGids:\n"
            "    - 44\n"
            "containerEdits:\n"
            "  env:\n"
            "  - A=b\n"
            "  - EMPTY=\n"
            "  mounts:\n"
            "  - hostPath: /lib/a\n"
            "    containerPath: /b\n"
            "    options:\n"
            "    - ro\n"
            "    - rbind\n"
            "  hooks:\n"
            "  - hookName: createContainer\n"
            "    path: /h\n"
            "    args:\n"
            "    - h\n"
            "    - \"no\"\n"
            "    - \"--link\"\n"
            "    - a::/b\n"
            "    env:\n"
            "    - X=y\n");
}

TEST(Spec, ParseReadsWhatPrintWrote) {
  for (const Spec& spec : {Plain(), Full()}) EXPECT_EQ(Parse(Print(spec, "x")).value(), spec);
}

TEST(Spec, ACommentStaysOneLine) {
  const std::string text = Print(Plain(), "a\nkind: x\u2028kind: y\u0085z\x7F");
  EXPECT_EQ(text.substr(0, text.find('\n')), "# a?kind: x???kind: y??z?");
  EXPECT_EQ(Parse(text).value(), Plain());
}

// As the Go driver writes it: sorted keys, fields that we do not use, list items on one line.
TEST(Spec, ParseReadsFilesOfTheGoDriver) {
  const auto spec = Parse(R"(---
cdiVersion: 0.5.0
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib64]
    env:
    - NVIDIA_CTK_DEBUG=false
    hookName: createContainer
    path: /var/lib/kubelet/plugins/gpu.nvidia.com/nvidia-cdi-hook
    timeout: 10
devices:
- annotations:
    gpu.nvidia.com/coherent: "true"
  containerEdits:
    deviceNodes:
    - fileMode: 438
      hostPath: /dev/nvidia0
      major: 195
      path: /dev/nvidia0
      permissions: rwm
      uid: 0
    netDevices: []
  name: 3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10-gpu-0
kind: k8s.gpu.nvidia.com/claim
)");
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  EXPECT_EQ(spec->kind, "k8s.gpu.nvidia.com/claim");
  ASSERT_EQ(spec->devices.size(), 1U);
  EXPECT_EQ(QualifiedName(*spec, spec->devices[0]),
            "k8s.gpu.nvidia.com/claim=3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10-gpu-0");
  EXPECT_EQ(spec->devices[0].edits.device_nodes[0].file_mode, 0666U);
  EXPECT_EQ(spec->devices[0].edits.device_nodes[0].minor, std::nullopt);
  EXPECT_EQ(spec->edits.hooks[0].args.size(), 4U);
}

TEST(Spec, ParseSaysWhatIsWrong) {
  struct Case {
    std::string_view text, fault;
  };
  const Case cases[] = {
      {"", "holds 0"},
      {"a: 1\n---\nb: 2\n", "holds 2"},
      {"[]", "expected object"},
      {"{cdiVersion: 0.3.0, devices: []}", "kind: required field is missing"},
      {"{cdiVersion: 0.3.0, kind: 1, devices: []}", "kind: expected string, found 1"},
      {"{cdiVersion: 0.3.0, kind: a/b, devices: [{name: x}]}", "devices[0].containerEdits: required"},
      {"{cdiVersion: 0.3.0, kind: a/b, devices: [], containerEdits: {deviceNodes: [{path: /x, fileMode: -1}]}}",
       "out of range"},
      {"\t{", "line 1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto spec = Parse(c.text);
    ASSERT_FALSE(spec.has_value());
    EXPECT_THAT(spec.error().message(), HasSubstr(c.fault));
  }
}

}  // namespace
}  // namespace tessera::cdi
