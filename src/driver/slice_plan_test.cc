#include "driver/slice_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<api::ResourceSlice> Wanted(std::size_t devices, std::string_view type = "gpu") {
  std::vector<api::Device> list;
  for (std::size_t i = 0; i < devices; ++i)
    list.push_back({Format("gpu-{}", i), {{"type", std::string(type)}}, {}, {}});
  return device::MakeSlices(std::move(list),
                            {.node_name = "n", .generation = 1, .owner = api::OwnerReference{"v1", "Node", "n", "u"}});
}

// What a server holds after a plan was carried out.
class FakeServer {
 public:
  void Apply(const SlicePlan& plan) {
    for (const SliceWrite& write : plan.deletes) Erase(write.name);
    for (const SliceWrite& write : plan.updates) {
      Erase(write.name);
      Put(write.object, write.name);
    }
    for (const SliceWrite& write : plan.creates) {
      Put(write.object, TextAt(write.object, {"metadata", "generateName"}) + Format("{:05}", ++serial_));
    }
  }
  void Put(json::Value object, const std::string& name) {
    json::Object& metadata = object.as_object()["metadata"].as_object();
    metadata["name"] = name;
    if (!metadata.contains("uid")) metadata["uid"] = Format("uid-{}", ++serial_);
    metadata["resourceVersion"] = Format("{}", ++version_);
    slices.push_back(std::move(object));
  }
  std::vector<json::Value> slices;

  // "generation/count first-device", in the order of names.
  std::vector<std::string> Summary() const {
    std::map<std::string, std::string> lines;
    for (const json::Value& slice : slices) {
      const json::Value& spec = slice.at("spec");
      const json::Value* devices = spec.as_object().if_contains("devices");
      lines[TextAt(slice, {"metadata", "name"})] = Format(
          "{}/{} {}", spec.at("pool").at("generation").as_int64(), spec.at("pool").at("resourceSliceCount").as_int64(),
          devices == nullptr ? "none" : TextAt(devices->at(0), {"name"}));
    }
    std::vector<std::string> out;
    for (const auto& [name, line] : lines) out.push_back(line);
    return out;
  }

 private:
  void Erase(const std::string& name) {
    std::erase_if(slices, [&](const json::Value& slice) { return TextAt(slice, {"metadata", "name"}) == name; });
  }
  int serial_ = 0, version_ = 0;
};

TEST(PlanSlices, FirstPublicationIsGenerationOne) {
  FakeServer server;
  const SlicePlan plan = PlanSlices(Wanted(70), server.slices, "v1", {});
  EXPECT_THAT(plan.creates, SizeIs(2));
  server.Apply(plan);
  EXPECT_THAT(server.Summary(), ElementsAre("1/2 gpu-0", "1/2 gpu-64"));
  EXPECT_TRUE(PlanSlices(Wanted(70), server.slices, "v1", {}).empty());
}

TEST(PlanSlices, NoDevicesIsAnEmptySlice) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(0), server.slices, "v1", {}));
  EXPECT_THAT(server.Summary(), ElementsAre("1/1 none"));
}

TEST(PlanSlices, AChangeInOneSliceKeepsTheGeneration) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(70), server.slices, "v1", {}));
  auto wanted = Wanted(70);
  wanted[1].devices[0].attributes["type"] = std::string("other");
  const SlicePlan plan = PlanSlices(wanted, server.slices, "v1", {});
  EXPECT_THAT(plan.updates, SizeIs(1));
  EXPECT_EQ(plan.generation, 1);
}

TEST(PlanSlices, AChangeInTwoRaisesItInAll) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(130), server.slices, "v1", {}));
  auto wanted = Wanted(130);
  wanted[0].devices[0].attributes["type"] = std::string("other");
  wanted[1].devices[0].attributes["type"] = std::string("other");
  const SlicePlan plan = PlanSlices(wanted, server.slices, "v1", {});
  EXPECT_THAT(plan.updates, SizeIs(3));
  server.Apply(plan);
  EXPECT_THAT(server.Summary(), ElementsAre("2/3 gpu-0", "2/3 gpu-64", "2/3 gpu-128"));
}

TEST(PlanSlices, GrowingAndShrinkingRaiseIt) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(1), server.slices, "v1", {}));
  server.Apply(PlanSlices(Wanted(70), server.slices, "v1", {}));
  EXPECT_THAT(server.Summary(), ElementsAre("2/2 gpu-0", "2/2 gpu-64"));
  const SlicePlan plan = PlanSlices(Wanted(1), server.slices, "v1", {});
  EXPECT_THAT(plan.deletes, SizeIs(1));
  EXPECT_FALSE(plan.deletes[0].uid.empty());
  EXPECT_FALSE(plan.deletes[0].resource_version.empty());
  server.Apply(plan);
  EXPECT_THAT(server.Summary(), ElementsAre("3/1 gpu-0"));
}

TEST(PlanSlices, SlicesOfTheGoDriverAreUpdatedInPlace) {
  FakeServer server;
  json::Value theirs = api::ToJson(Wanted(3, "theirs")[0], "v1");
  theirs.as_object()["spec"].as_object()["pool"].as_object()["generation"] = 17;
  theirs.as_object()["metadata"].as_object()["uid"] = "uid-of-go";
  server.Put(theirs, "n-gpu.nvidia.com-abcde");
  const SlicePlan plan = PlanSlices(Wanted(2), server.slices, "v1", {});
  EXPECT_THAT(plan.creates, IsEmpty());
  EXPECT_THAT(plan.deletes, IsEmpty());
  ASSERT_THAT(plan.updates, SizeIs(1));
  EXPECT_EQ(plan.updates[0].uid, "uid-of-go");
  EXPECT_GE(plan.generation, 17);
}

TEST(PlanSlices, ContentsFollowTheOrderOfNames) {
  FakeServer server;
  server.Put(api::ToJson(Wanted(3)[0], "v1"), "n-gpu.nvidia.com-abcde");  // Sorts behind every name of ours.
  server.Apply(PlanSlices(Wanted(70), server.slices, "v1", {}));
  EXPECT_THAT(server.Summary(), ElementsAre("2/2 gpu-0", "2/2 gpu-64"));
}

TEST(PlanSlices, AnEditedSliceIsPutRight) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(2), server.slices, "v1", {}));
  server.slices[0].as_object()["spec"].as_object()["devices"].as_array()[0].as_object()["taints"] =
      json::Array{json::Object{{"key", "a"}, {"effect", "NoExecute"}}};
  EXPECT_THAT(PlanSlices(Wanted(2), server.slices, "v1", {}).updates, SizeIs(1));
}

TEST(PlanSlices, AnotherOwnerIsPutRight) {
  FakeServer server;
  server.Apply(PlanSlices(Wanted(2), server.slices, "v1", {}));
  server.slices[0].as_object()["metadata"].as_object()["ownerReferences"] = json::Array{};
  EXPECT_THAT(PlanSlices(Wanted(2), server.slices, "v1", {}).updates, SizeIs(1));
}

TEST(PlanSlices, ATaintThatStaysKeepsItsTime) {
  FakeServer server;
  auto wanted = Wanted(2);
  wanted[0].devices[1].taints = {{"k", "v", "NoSchedule"}};
  server.Apply(PlanSlices(wanted, server.slices, "v1", {}));
  json::Object& taint = server.slices[0]
                            .as_object()["spec"]
                            .as_object()["devices"]
                            .as_array()[1]
                            .as_object()["taints"]
                            .as_array()[0]
                            .as_object();
  taint["timeAdded"] = "2026-01-01T00:00:00Z";
  wanted[0].devices[0].taints = {{"new", "", "NoSchedule"}};
  const SlicePlan plan = PlanSlices(wanted, server.slices, "v1", {});
  ASSERT_THAT(plan.updates, SizeIs(1));
  const json::Value& devices = plan.updates[0].object.at("spec").at("devices");
  EXPECT_EQ(TextAt(devices.at(1).at("taints").at(0), {"timeAdded"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(TextAt(devices.at(0).at("taints").at(0), {"timeAdded"}), "");
}

TEST(PlanSlices, WhatTheServerDropsIsNotWrittenForEver) {
  FakeServer server;
  auto wanted = Wanted(2);
  wanted[0].devices[0].taints = {{"k", "v", "NoSchedule"}};
  const SlicePlan plan = PlanSlices(wanted, server.slices, "v1", {});
  server.Apply(plan);
  server.slices[0].as_object()["spec"].as_object()["devices"].as_array()[0].as_object().erase("taints");
  const std::string name = TextAt(server.slices[0], {"metadata", "name"});
  EXPECT_FALSE(PlanSlices(wanted, server.slices, "v1", {}).empty());
  const std::map<std::string, Accepted> accepted{
      {name, {plan.creates[0].object.at("spec"), server.slices[0].at("spec")}}};
  EXPECT_TRUE(PlanSlices(wanted, server.slices, "v1", accepted).empty());
  wanted[0].devices[1].attributes["type"] = std::string("other");
  EXPECT_FALSE(PlanSlices(wanted, server.slices, "v1", accepted).empty());
}

TEST(LastManager, IsTheNewestOfManagedFields) {
  const auto slice = json::ParseJson(R"({"metadata":{"managedFields":[
      {"manager":"tessera-kubelet-plugin","time":"2026-01-01T00:00:01Z"},
      {"manager":"gpu-kubelet-plugin","time":"2026-01-01T00:00:02Z"}]}})")
                         .value();
  EXPECT_EQ(LastManager(slice), "gpu-kubelet-plugin");
  EXPECT_EQ(LastManager(json::Object{}), "");
}

}  // namespace
}  // namespace tessera::driver
