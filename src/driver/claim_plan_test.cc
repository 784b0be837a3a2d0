#include "driver/claim_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

api::AllocationConfig Mps(std::vector<std::string> requests) {
  return {"FromClaim", std::move(requests), "gpu.nvidia.com",
          json::ParseYaml("{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}")
              .value()[0]};
}

TEST(PlanClaim, NamesWhatTheKubeletAndTheJournalNeed) {
  api::AllocationResult shared = Gets("gpu-1", "more/small");
  shared.share_id = "share-1";
  const auto plan = PlanClaim(TestClaim("a", {Gets("gpu-0"), shared}), *TestState(), kNode, "boot");
  ASSERT_TRUE(plan.has_value()) << plan.error().Text();
  EXPECT_EQ(plan->claim.uid, "uid-a");
  EXPECT_EQ(plan->boot_id, "boot");
  EXPECT_THAT(plan->pods, ElementsAre("ml/pod-a"));
  ASSERT_THAT(plan->devices, SizeIs(2));
  EXPECT_THAT(plan->devices[0].requests, ElementsAre("gpus"));
  EXPECT_THAT(plan->devices[0].cdi_ids,
              ElementsAre("k8s.gpu.nvidia.com/claim=uid-a-gpu-0", "k8s.gpu.nvidia.com/base=driver"));
  EXPECT_THAT(plan->devices[1].requests, ElementsAre("more"));  // The kubelet knows only the main name.
  EXPECT_EQ(plan->devices[1].share_id, "share-1");
  EXPECT_EQ(plan->devices[1].hardware.gpu_uuid, TestGpu(1).gpu.uuid);
}

TEST(PlanClaim, LeavesOtherDriversAlone) {
  api::AllocationResult nic = Gets("eth0", "nic");
  nic.driver = "nic.example.com";
  const auto plan = PlanClaim(TestClaim("a", {nic, Gets("gpu-0")}), *TestState(), kNode, "boot");
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->devices, SizeIs(1));
}

TEST(PlanClaim, RefusesWithAReason) {
  api::AllocationResult elsewhere = Gets("gpu-0");
  elsewhere.pool = "node-b";
  api::AllocationResult other = Gets("eth0");
  other.driver = "nic.example.com";
  api::ResourceClaim with_mps = TestClaim("a", {Gets("gpu-0")});
  with_mps.allocation->configs = {Mps({})};
  api::ResourceClaim mismatched = TestClaim("a", {Gets("gpu-2-mig-1g10gb-19-0")});
  mismatched.allocation->configs = {Mps({"gpus"})};
  api::ResourceClaim unallocated = TestClaim("a", {});
  unallocated.allocation.reset();
  struct Case {
    std::string_view name;
    api::ResourceClaim claim;
    std::string_view code;
    ErrorKind kind;
    std::string_view text;
  };
  const Case cases[] = {
      {"not allocated", unallocated, "NotAllocated", ErrorKind::kTransient, "no devices allocated"},
      {"nothing for us", TestClaim("a", {other}), "NothingForUs", ErrorKind::kPermanentConfig, "gpu.nvidia.com"},
      {"another node's", TestClaim("a", {elsewhere}), "WrongPool", ErrorKind::kPermanentConfig, "pool node-b"},
      {"unknown", TestClaim("a", {Gets("gpu-9")}), "DeviceNotFound", ErrorKind::kPermanentDevice, "gpu-9"},
      {"withheld", TestClaim("a", {Gets("gpu-5")}), "DeviceWithheld", ErrorKind::kPermanentDevice, "fell off the bus"},
      {"MPS", with_mps, "ConfigNotServed", ErrorKind::kPermanentConfig, "MPS"},
      {"GPU config on MIG", mismatched, "ConfigKindMismatch", ErrorKind::kPermanentConfig, "MIG device"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto plan = PlanClaim(c.claim, *TestState(), kNode, "boot");
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().code(), c.code);
    EXPECT_EQ(plan.error().kind(), c.kind);
    EXPECT_THAT(plan.error().Text(), HasSubstr(c.text));
  }
}

TEST(PlanClaim, ReportsAllFaultsAtOnce) {
  api::ResourceClaim claim = TestClaim("a", {Gets("gpu-9"), Gets("gpu-0"), Gets("gpu-8", "more")});
  claim.allocation->configs = {Mps({})};
  const auto plan = PlanClaim(claim, *TestState(), kNode, "boot");
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message(), HasSubstr("gpu-9"));
  EXPECT_THAT(plan.error().message(), HasSubstr("gpu-8"));
  EXPECT_THAT(plan.error().message(), HasSubstr("MPS"));
}

std::shared_ptr<const api::PreparedClaim> Held(const std::string& name, api::AllocationResult result) {
  return std::make_shared<const api::PreparedClaim>(
      PlanClaim(TestClaim(name, {std::move(result)}), *TestState(), kNode, "boot").value());
}

TEST(FindConflicts, AreByHardwareAndNameTheOther) {
  device::Snapshot renamed = TestSnapshot();
  renamed.devices[2].name = "gpu-2-mig-19-0-1";  // As v25.8.1 of the Go driver names it.
  const auto old = std::make_shared<const api::PreparedClaim>(
      PlanClaim(TestClaim("old", {Gets("gpu-2-mig-19-0-1")}), *TestState(renamed), kNode, "boot").value());
  const auto other = Held("other", Gets("gpu-0"));
  const auto plan =
      PlanClaim(TestClaim("a", {Gets("gpu-0"), Gets("gpu-2-mig-1g10gb-19-0")}), *TestState(), kNode, "boot");
  const auto conflicts = FindConflicts(*plan, {other, old});
  ASSERT_THAT(conflicts, SizeIs(2));
  EXPECT_EQ(ToText(conflicts[0]), "gpu-0 is prepared for claim ml/other (pod ml/pod-other)");
  EXPECT_EQ(ToText(conflicts[1]),
            "gpu-2-mig-1g10gb-19-0 is prepared as gpu-2-mig-19-0-1 for claim ml/old (pod ml/pod-old)");
}

TEST(FindConflicts, LeaveOutAdminAccessSharesAndItself) {
  api::AllocationResult admin = Gets("gpu-0");
  admin.admin_access = true;
  api::AllocationResult share_1 = Gets("gpu-1");
  share_1.share_id = "1";
  api::AllocationResult share_2 = Gets("gpu-1");
  share_2.share_id = "2";
  const auto plan = PlanClaim(TestClaim("a", {Gets("gpu-0"), share_1}), *TestState(), kNode, "boot");
  EXPECT_THAT(FindConflicts(*plan, {Held("watcher", admin), Held("sharer", share_2), Held("a", Gets("gpu-0"))}),
              IsEmpty());
  EXPECT_THAT(FindConflicts(*plan, {Held("same-share", share_1)}), SizeIs(1));
  EXPECT_THAT(FindConflicts(*plan, {Held("whole", Gets("gpu-1"))}), SizeIs(1));
}

}  // namespace
}  // namespace tessera::driver
