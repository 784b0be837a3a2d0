// Fields, health, links and topology through the C ABI.
#include "sim/library/library_test.h"

namespace tessera::sim {
namespace {

using namespace abi;

class TopologyTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    Init();
  }

  // NVLink between GPUs 0 and 1 through one switch.
  void Connect() const {
    Update([](Machine& m) {
      m.switches = {{.bus_id = "0000:c1:00.0", .pcie_root = "pci0000:c0", .pci_device_id = 0x22A310DE}};
      for (unsigned i : {0U, 1U}) {
        NvLink link;
        link.remote_bus_id = m.switches[0].bus_id;
        link.remote_link = i + 4;
        m.gpus[i].links = {link, link};
        m.gpus[i].links[1].up = false;
      }
    });
  }

  FieldValue Field(unsigned index, unsigned id, unsigned scope = 0) const {
    FieldValue value{};
    value.fieldId = id;
    value.scopeId = scope;
    value.nvmlReturn = kUnknown;
    EXPECT_EQ(Call("nvmlDeviceGetFieldValues", Gpu(index), 1, &value), kSuccess);
    return value;
  }
};

TEST_F(TopologyTest, AncestorsFollowFromBridgesAndNodes) {
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(0), Gpu(1)), 10);
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(2), Gpu(3)), 30);
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(0), Gpu(2)), 50);
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(0), Gpu(0)), -kNotSupported);
  Update([](Machine& m) {
    m.gpus[2].numa_node = 0;
    m.gpus[1].bridges = {"0000:00:01.0", "0000:05:00.0", "0000:06:02.0", "0000:09:00.0", "0000:0a:00.0"};
  });
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(0), Gpu(2)), 40);
  EXPECT_EQ(Get("nvmlDeviceGetTopologyCommonAncestor", Gpu(0), Gpu(1)), 20);
}

TEST_F(TopologyTest, NearestGpusExcludeTheDeviceItself) {
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetTopologyNearestGpus", Gpu(0), 50U, &count, static_cast<Device*>(nullptr)), kSuccess);
  EXPECT_EQ(count, 2U);
  Device near[4] = {};
  count = 4;
  EXPECT_EQ(Call("nvmlDeviceGetTopologyNearestGpus", Gpu(0), 10U, &count, &near[0]), kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(near[0], Gpu(1));
  EXPECT_EQ(Call("nvmlDeviceGetTopologyNearestGpus", Gpu(0), 7U, &count, &near[0]), kInvalidArgument);
  count = 4;
  EXPECT_EQ(Call("nvmlSystemGetTopologyGpuSet", 64U, &count, &near[0]), kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(near[0], Gpu(2));
}

TEST_F(TopologyTest, AffinityIsTheNodesCpus) {
  unsigned long cpus[2] = {9, 9};
  EXPECT_EQ(Call("nvmlDeviceGetCpuAffinity", Gpu(2), 2U, &cpus[0]), kSuccess);
  EXPECT_EQ(cpus[0], 0xF0UL);
  EXPECT_EQ(cpus[1], 1UL);
  EXPECT_EQ(Call("nvmlDeviceGetCpuAffinity", Gpu(2), 1U, &cpus[0]), kInsufficientSize);
  unsigned long nodes = 0;
  EXPECT_EQ(Call("nvmlDeviceGetMemoryAffinity", Gpu(2), 1U, &nodes, 0U), kSuccess);
  EXPECT_EQ(nodes, 2UL);
  EXPECT_EQ(Call("nvmlDeviceGetMemoryAffinity", Gpu(2), 1U, &nodes, 2U), kInvalidArgument);
}

TEST_F(TopologyTest, LinksAnswerAlike) {
  EXPECT_EQ(Field(0, kFieldNvlinkLinkCount).nvmlReturn, kNotSupported);
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(1), 2U), 5) << "not supported";
  Connect();
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkState", Gpu(0), 0U), 1);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkState", Gpu(0), 1U), 0);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkState", Gpu(0), 2U), -kInvalidArgument);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkVersion", Gpu(0), 0U), 6);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkRemoteDeviceType", Gpu(0), 0U), 2);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkRemoteDeviceType", Gpu(0), 1U), -kNotSupported);
  PciInfo remote{};
  EXPECT_EQ(Call("nvmlDeviceGetNvLinkRemotePciInfo_v2", Gpu(0), 0U, &remote), kSuccess);
  EXPECT_STREQ(remote.busId, "00000000:C1:00.0");
  EXPECT_EQ(remote.pciDeviceId, 0x22A310DEU);
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(1), 2U), 0);
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(2), 2U), 5);
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(0), 2U), 0);
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(1), 9U), -kInvalidArgument);
  EXPECT_EQ(Field(0, kFieldNvlinkLinkCount).value.uiVal, 2U);
  EXPECT_EQ(Field(0, kFieldNvswitchLinkCount).value.uiVal, 1U);
  EXPECT_EQ(Field(0, 146, 0).value.uiVal, 4U);
  EXPECT_EQ(Field(0, 164, 0).value.uiVal, 26562U);
  EXPECT_EQ(Field(0, 165, 9).nvmlReturn, kInvalidArgument);
  Update([](Machine& m) { m.gpus[1].mig_mode = 1; });
  EXPECT_EQ(Get("nvmlDeviceGetP2PStatus", Gpu(0), Gpu(1), 0U), 5) << "MIG forbids it";
}

TEST_F(TopologyTest, FabricSaysWhatTheMachineSays) {
  Update([](Machine& m) {
    m.gpus[0].fabric = Fabric{};
    m.gpus[0].fabric->cluster_uuid = "01020304-0506-0708-090a-0b0c0d0e0f10";
    m.gpus[0].fabric->clique_id = 77;
  });
  FabricInfoV3 info{};
  info.version = VersionOf<FabricInfoV3>(3);
  EXPECT_EQ(Call("nvmlDeviceGetGpuFabricInfoV", Gpu(0), &info), kSuccess);
  EXPECT_EQ(info.state, 3);
  EXPECT_EQ(info.clusterUuid[15], 0x10);
  EXPECT_EQ(info.cliqueId, 77U);
  EXPECT_EQ(info.healthMask, 0x1AAU);
  EXPECT_EQ(info.healthSummary, 1);
}

TEST_F(TopologyTest, FieldsHaveTheirOwnTypeAndCode) {
  EXPECT_EQ(Field(0, kFieldResetlessMig).value.uiVal, 1U);
  EXPECT_EQ(Field(0, 199).value.uiVal, 1U);
  EXPECT_EQ(Field(0, kFieldRecoveryAction).nvmlReturn, kSuccess);
  EXPECT_EQ(Field(0, 9999).nvmlReturn, kInvalidArgument);
  EXPECT_EQ(Field(0, 83).nvmlReturn, kNotSupported) << "exists, is not simulated";
  EXPECT_EQ(Field(0, 142).valueType, kFieldUnsignedLongLong);
  EXPECT_EQ(Field(3, 142).nvmlReturn, kNotSupported) << "a T4 retires pages instead";
  EXPECT_EQ(Field(3, 30).nvmlReturn, kSuccess);
  const int kLimits[] = {-8, -2, 0, 0};
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(Field(0, 193 + i).value.siVal, kLimits[i]) << i;
  Update([](Machine& m) { m.nvml_header = "12.6"; });
  EXPECT_EQ(Field(0, 200).value.uiVal, 1U) << "12.5 and 12.6 had it there";
  EXPECT_EQ(Field(0, kFieldRecoveryAction).nvmlReturn, kInvalidArgument) << "came with 12.8";
  FieldValue value{};
  EXPECT_EQ(Call("nvmlDeviceGetFieldValues", Gpu(0), 0, &value), kInvalidArgument);
}

TEST_F(TopologyTest, HealthIsWhatWasInjected) {
  Update([](Machine& m) {
    m.gpus[0].ecc.uncorrected_aggregate = 3;
    m.gpus[0].remapped = {.correctable = 1, .uncorrectable = 2, .pending = true, .failed = false};
    m.gpus[3].retired_pages = 2;
    m.gpus[0].recovery_action = 1;
  });
  using Count = unsigned long long;
  EXPECT_EQ(Get<Count>("nvmlDeviceGetTotalEccErrors", Gpu(0), 1U, 1U), 3);
  EXPECT_EQ(Get<Count>("nvmlDeviceGetTotalEccErrors", Gpu(0), 1U, 2U), -kInvalidArgument);
  EXPECT_EQ(Get<Count>("nvmlDeviceGetMemoryErrorCounter", Gpu(0), 1U, 1U, 2U), 3);
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 9;
  EXPECT_EQ(Call("nvmlDeviceGetRemappedRows", Gpu(0), &corrected, &uncorrected, &pending, &failed), kSuccess);
  EXPECT_EQ(corrected + uncorrected + pending + failed, 4U);
  RowRemapperHistogram histogram{};
  EXPECT_EQ(Call("nvmlDeviceGetRowRemapperHistogram", Gpu(1), &histogram), kSuccess);
  EXPECT_EQ(histogram.max, 3072U);
  unsigned count = 4;
  unsigned long long pages[4] = {}, times[4] = {1, 1, 1, 1};
  EXPECT_EQ(Call("nvmlDeviceGetRetiredPages_v2", Gpu(3), 1U, &count, &pages[0], &times[0]), kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(times[1], 0U);
  EXPECT_EQ(times[2], 1U);
  EXPECT_EQ(Field(0, kFieldRecoveryAction).value.uiVal, 1U);
}

TEST_F(TopologyTest, GpusComeAndGoByAddress) {
  PciInfo pci{};
  ASSERT_EQ(Call("nvmlDeviceGetPciInfo_v3", Gpu(1), &pci), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceModifyDrainState", &pci, 1U), kInUse) << "persistence mode holds it";
  ASSERT_EQ(Call("nvmlDeviceSetPersistenceMode", Gpu(1), 0U), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceModifyDrainState", &pci, 1U), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceQueryDrainState", &pci), 1);
  EXPECT_EQ(Call("nvmlDeviceRemoveGpu_v2", &pci, 0U, 0U), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 3);
  EXPECT_EQ(Call("nvmlDeviceRemoveGpu_v2", &pci, 0U, 0U), kNotFound);
  EXPECT_EQ(Call("nvmlDeviceDiscoverGpus", &pci), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 4);
}

}  // namespace
}  // namespace tessera::sim
