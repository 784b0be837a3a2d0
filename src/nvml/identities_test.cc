#include "nvml/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::nvml {
namespace {

using ::testing::ElementsAre;

MachineVitals Machine(const std::vector<GpuVitals>& gpus) { return {"580.1", gpus, {}}; }

std::vector<std::string> Uuids(const MachineVitals& machine) {
  std::vector<std::string> uuids;
  for (const GpuVitals& gpu : machine.gpus)
    uuids.push_back(gpu.uuid + (gpu.lost ? " lost" : gpu.silent ? " silent" : ""));
  return uuids;
}

class IdentitiesTest : public ::testing::Test {
 protected:
  IdentitiesTest() { Completed({{.uuid = "a", .bus_id = "1"}, {.uuid = "b", .bus_id = "2"}, {.uuid = "c"}}); }
  MachineVitals Completed(const std::vector<GpuVitals>& gpus) {
    MachineVitals machine = Machine(gpus);
    identities_.Complete(machine);
    return machine;
  }
  Identities identities_;
};

TEST_F(IdentitiesTest, ASilentGpuKeepsItsName) {
  const auto machine = Completed({{.uuid = "a"}, {.silent = true}, {.uuid = "c"}});
  EXPECT_THAT(Uuids(machine), ElementsAre("a", "b silent", "c"));
  EXPECT_EQ(machine.gpus[1].bus_id, "2");
  EXPECT_THAT(Uuids(Completed({{.uuid = "a"}, {.lost = true}, {.uuid = "c"}})), ElementsAre("a", "b lost", "c"));
}

TEST_F(IdentitiesTest, AGpuThatIsMissingIsLost) {
  EXPECT_THAT(Uuids(Completed({{.uuid = "a"}, {.uuid = "c"}})), ElementsAre("a", "c", "b lost"));
  EXPECT_THAT(Uuids(Completed({{.uuid = "a"}, {.uuid = "b"}, {.uuid = "c"}})), ElementsAre("a", "b", "c"));
}

TEST_F(IdentitiesTest, NoNameIsGivenOnceIndicesHaveMoved) {
  // "a" was taken out and another put in elsewhere; index 0 is "b" now, so index 1 may be anybody.
  const auto machine = Completed({{.uuid = "b"}, {.silent = true, .gaps = {{"f", "why"}}}, {.uuid = "d"}});
  EXPECT_THAT(Uuids(machine), ElementsAre("b", "d", "a lost", "c lost"));
  EXPECT_THAT(machine.gaps, ElementsAre(Gap{"f", "GPU with index 1: why"}));
}

TEST_F(IdentitiesTest, NothingIsKnownAfterClear) {
  identities_.Clear();
  EXPECT_THAT(Uuids(Completed({{.uuid = "a"}, {.silent = true}})), ElementsAre("a"));
}

}  // namespace
}  // namespace tessera::nvml
