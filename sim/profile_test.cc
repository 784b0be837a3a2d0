#include "sim/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "sim/mig.h"
#include "tests/support/paths.h"

namespace tessera::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(TESSERA_SOURCE_DIR) / "sim";

Machine Load(const std::string& name) {
  auto machine = LoadProfile(kData, name);
  if (!machine) Abort(machine.error().Text());
  return *machine;
}

// What a profile with this text says, or why it is none.
Result<Machine> LoadText(std::string_view text) {
  TESSERA_ASSIGN(const TempDir dir, TempDir::Create("tessera-profile"));
  const auto path = dir.path() / "given.yaml";
  TESSERA_TRY(ReplaceFile(path, text));
  return LoadProfile(kData, path);
}

std::vector<std::string> Instances(const Machine& machine, const Gpu& gpu) {
  const Model& model = machine.models.at(gpu.model);
  std::vector<std::string> found;
  for (const GpuInstance& instance : gpu.instances) {
    found.push_back(Format("{}@{} gi {} ci {}", ProfileName(model, *FindProfileById(model, instance.profile_id)),
                           instance.start, instance.id, instance.compute.size()));
  }
  return found;
}

TEST(Profile, EveryModelIsWholeAndSaysWhatIsNotKnown) {
  const auto names = ListModels(kData);
  ASSERT_TRUE(names);
  EXPECT_GE(names->size(), 14U);
  for (const std::string& name : *names) {
    SCOPED_TRACE(name);
    const auto model = LoadModel(kData, name);
    ASSERT_TRUE(model) << model.error().Text();
    EXPECT_EQ(model->pci_device_id & 0xFFFF, 0x10DEU);
    EXPECT_NE(model->cores, 0U);
    EXPECT_NE(model->multiprocessors, 0U);
    EXPECT_NE(model->bar1_bytes, 0U);
    EXPECT_LT(model->power_idle_mw, model->power_default_mw);
    EXPECT_LE(model->power_default_mw, model->power_max_mw);
    EXPECT_LE(model->power_min_mw, model->power_default_mw);
    EXPECT_LT(model->temp_slowdown, model->temp_shutdown);
    EXPECT_FALSE(model->unknown.empty());
    EXPECT_NE(model->row_remapping, model->remap_banks == 0);
    EXPECT_TRUE(model->mig.empty() || model->mig.size() == 7);
  }
}

TEST(Profile, MigTablesHaveTheSameShapeOnAllSevenSliceBoards) {
  for (const char* name : {"a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb",
                           "b200-sxm-180gb", "gb200"}) {
    SCOPED_TRACE(name);
    const auto model = LoadModel(kData, name);
    ASSERT_TRUE(model) << model.error().Text();
    std::vector<std::string> rows;
    for (const MigProfile& p : model->mig) {
      rows.push_back(Format("{} {} {}g x{} {}+{}", p.number, p.id, p.slices, p.instances, p.starts.size(), p.size));
      EXPECT_EQ(p.ofas, p.id == 20 || p.id == 0 ? 1U : 0U);
      EXPECT_LT(p.memory_mb << 20, model->memory_bytes);
    }
    EXPECT_THAT(rows, ElementsAre("0 19 1g x7 7+1", "7 20 1g x1 7+1", "9 15 1g x4 4+2", "1 14 2g x3 3+2",
                                  "2 9 3g x2 2+4", "3 5 4g x1 1+4", "4 0 7g x1 1+8"));
  }
}

TEST(Profile, EveryProfileLoads) {
  const auto profiles = ListProfiles(kData);
  ASSERT_TRUE(profiles) << profiles.error().Text();
  std::vector<std::string> names;
  for (const auto& [name, description] : *profiles) {
    SCOPED_TRACE(name);
    names.push_back(name);
    EXPECT_FALSE(description.empty());
    const auto machine = LoadProfile(kData, name);
    ASSERT_TRUE(machine) << machine.error().Text();
    EXPECT_EQ(machine->profile, name);
    std::set<std::string> uuids;
    for (const Gpu& gpu : machine->gpus) {
      EXPECT_TRUE(uuids.insert(gpu.uuid).second);
      EXPECT_FALSE(gpu.bridges.empty());
      EXPECT_EQ(gpu.serial.size(), machine->models.at(gpu.model).serial ? 13U : 0U);
    }
    const auto again = json::Decode<Machine>(json::Encode(*machine));
    ASSERT_TRUE(again) << again.error().Text();
    EXPECT_EQ(*again, *machine);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"quadro-rtx-6000", "geforce-rtx-4090", "t4", "l4", "l40s", "dgx-a100-40gb",
                                            "dgx-a100-80gb", "dgx-h100", "hgx-h200", "hgx-b200", "gb200-tray", "mixed",
                                            "dgx-a100-mig"}));
}

TEST(Profile, FactsAreThoseOfTheMachines) {
  struct Case {
    std::string profile;
    std::size_t gpus;
    std::string name;
    unsigned device;
    std::uint64_t bytes;
    std::string last_bus;
    std::size_t links, switches;
  };
  const std::array cases{
      Case{"quadro-rtx-6000", 1, "Quadro RTX 6000", 0x1E30, 25769803776, "0000:07:00.0", 2, 0},
      Case{"geforce-rtx-4090", 1, "NVIDIA GeForce RTX 4090", 0x2684, 25757220864, "0000:01:00.0", 0, 0},
      Case{"t4", 1, "Tesla T4", 0x1EB8, 16106127360, "0000:3b:00.0", 0, 0},
      Case{"l4", 1, "NVIDIA L4", 0x27B8, 24152899584, "0000:31:00.0", 0, 0},
      Case{"l40s", 4, "NVIDIA L40S", 0x26B9, 48305799168, "0000:ca:00.0", 0, 0},
      Case{"dgx-a100-40gb", 8, "NVIDIA A100-SXM4-40GB", 0x20B0, 42949672960, "0000:bd:00.0", 12, 6},
      Case{"dgx-a100-80gb", 8, "NVIDIA A100-SXM4-80GB", 0x20B2, 85899345920, "0000:bd:00.0", 12, 6},
      Case{"dgx-h100", 8, "NVIDIA H100 80GB HBM3", 0x2330, 85520809984, "0000:df:00.0", 18, 4},
      Case{"hgx-h200", 8, "NVIDIA H200", 0x2335, 150754820096, "0000:cb:00.0", 18, 4},
      Case{"hgx-b200", 8, "NVIDIA B200", 0x2901, 192265846784, "0000:cb:00.0", 18, 0},
      Case{"gb200-tray", 4, "NVIDIA GB200", 0x2941, 198674743296, "0019:01:00.0", 18, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.profile);
    const Machine machine = Load(c.profile);
    ASSERT_EQ(machine.gpus.size(), c.gpus);
    const Gpu& last = machine.gpus.back();
    const Model& model = machine.models.at(last.model);
    EXPECT_EQ(model.name, c.name);
    EXPECT_EQ(model.pci_device_id >> 16, c.device);
    EXPECT_EQ(model.memory_bytes, c.bytes);
    EXPECT_EQ(last.bus_id, c.last_bus);
    EXPECT_EQ(last.links.size(), c.links);
    EXPECT_EQ(machine.switches.size(), c.switches);
  }
}

TEST(Profile, DriversDifferSoThatSymbolsAreMissing) {
  EXPECT_EQ(Load("t4").nvml_header, "12.2");
  EXPECT_EQ(Load("l4").nvml_header, "12.8");
  EXPECT_EQ(Load("dgx-a100-40gb").driver_version, "550.163.01");
  const Machine newest = Load("hgx-h200");
  EXPECT_EQ(newest.driver_version, "580.159.04");
  EXPECT_EQ(newest.kernel_version, "580.159.04");
  EXPECT_EQ(newest.cuda_version, 13000U);
}

TEST(Profile, LinksSpreadOverTheSwitches) {
  const Machine machine = Load("dgx-a100-80gb");
  std::map<std::string, unsigned> links;
  std::set<std::pair<std::string, unsigned>> ports;
  for (const Gpu& gpu : machine.gpus) {
    for (const NvLink& link : gpu.links) {
      EXPECT_TRUE(link.up);
      EXPECT_EQ(link.remote_type, 2U);
      ++links[link.remote_bus_id];
      EXPECT_TRUE(ports.insert({link.remote_bus_id, link.remote_link}).second) << "two links in one port";
    }
  }
  EXPECT_EQ(links.size(), 6U);
  for (const auto& [bus_id, count] : links) EXPECT_EQ(count, 16U) << bus_id;
  EXPECT_FALSE(machine.gpus[0].fabric) << "A100 has no fabric API";
}

TEST(Profile, FabricTellsNodeFromRack) {
  const Fabric node = Load("dgx-h100").gpus[0].fabric.value();
  EXPECT_EQ(node.state, 3U);
  EXPECT_EQ(node.cluster_uuid, "00000000-0000-0000-0000-000000000000");
  const Machine tray = Load("gb200-tray");
  for (const Gpu& gpu : tray.gpus) {
    EXPECT_EQ(gpu.fabric->state, 3U);
    EXPECT_EQ(gpu.fabric, tray.gpus[0].fabric);
    EXPECT_EQ(gpu.fabric->cluster_uuid[0], '6');
  }
  const Model& model = tray.models.at("gb200");
  EXPECT_TRUE(model.c2c);
  EXPECT_EQ(model.addressing_mode, 2U);
  EXPECT_EQ(tray.gpus[0].bus_id, "0008:01:00.0");
}

TEST(Profile, MixedNodeHasOddCorners) {
  const Machine machine = Load("mixed");
  ASSERT_EQ(machine.gpus.size(), 4U);
  EXPECT_EQ(machine.models.size(), 4U);
  EXPECT_THAT(Instances(machine, machine.gpus[0]),
              ElementsAre("1g.10gb@6 gi 13 ci 1", "2g.20gb@4 gi 5 ci 1", "3g.40gb@0 gi 1 ci 1"));
  EXPECT_EQ(machine.gpus[0].minor, 2U);
  EXPECT_EQ(machine.gpus[1].fabric->state, 0U);
  EXPECT_EQ(machine.gpus[1].mig_mode, 0U);
  EXPECT_EQ(machine.gpus[3].numa_node, -1);
  EXPECT_THAT(machine.gpus[2].bridges, ElementsAre("0000:b0:01.0"));
  EXPECT_THAT(machine.gpus[3].bridges, ElementsAre("0000:b0:02.0"));
  EXPECT_FALSE(machine.gpus[0].links[0].up);
}

TEST(Profile, PartitionedNodeHasEveryKind) {
  const Machine machine = Load("dgx-a100-mig");
  std::vector<std::size_t> counts;
  for (const Gpu& gpu : machine.gpus) counts.push_back(gpu.instances.size());
  EXPECT_THAT(counts, ElementsAre(7, 2, 3, 4, 0, 1, 0, 0));
  EXPECT_EQ(machine.gpus[4].mig_mode, 1U);
  EXPECT_EQ(machine.gpus[6].mig_mode, 0U);
  EXPECT_THAT(Instances(machine, machine.gpus[1]), ElementsAre("3g.20gb@0 gi 1 ci 1", "3g.20gb@4 gi 2 ci 2"));
  std::set<std::string> uuids;
  for (const Gpu& gpu : machine.gpus) {
    std::set<unsigned> indices;
    for (const GpuInstance& instance : gpu.instances) {
      for (const ComputeInstance& compute : instance.compute) {
        EXPECT_TRUE(uuids.insert(compute.uuid).second);
        indices.insert(compute.mig_index);
      }
    }
    for (unsigned i = 0; i < indices.size(); ++i) EXPECT_TRUE(indices.contains(i)) << "indices are dense";
  }
}

TEST(Profile, LoadsTheSameEachTime) { EXPECT_EQ(Load("dgx-a100-mig"), Load("dgx-a100-mig")); }

TEST(Profile, SortsGpusAndWiresPairs) {
  const auto machine = LoadText(R"(
description: Two workstation boards with a bridge
gpus:
- {model: quadro-rtx-6000, busId: "0000:65:00.0", root: "pci0000:64"}
- {model: quadro-rtx-6000, busId: "0000:17:00.0", root: "pci0000:16"}
nvlink: {through: pairs, pairs: [["0000:17:00.0", "0000:65:00.0"]]}
)");
  ASSERT_TRUE(machine) << machine.error().Text();
  EXPECT_EQ(machine->gpus[0].bus_id, "0000:17:00.0");
  ASSERT_EQ(machine->gpus[0].links.size(), 2U);
  EXPECT_EQ(machine->gpus[0].links[1].remote_bus_id, "0000:65:00.0");
  EXPECT_EQ(machine->gpus[1].links[1].remote_bus_id, "0000:17:00.0");
  EXPECT_EQ(machine->gpus[1].links[1].remote_type, 0U);
  EXPECT_EQ(machine->gpus[0].numa_node, -1);
}

TEST(Profile, BadOnesSayWhatIsWrong) {
  struct Case {
    std::string_view name, text, message;
  };
  const std::array cases{
      Case{"no description", "gpus: []", "description: required field is missing"},
      Case{"unknown field", "{description: x, gpu: []}", "gpu"},
      Case{"unknown model", "{description: x, gpus: [{model: t5, busId: '0000:01:00.0', root: 'pci0000:00'}]}",
           "there is no GPU model \"t5\"; did you mean \"t4\"?"},
      Case{"bus id", "{description: x, gpus: [{model: t4, busId: '01:00.0', root: 'pci0000:00'}]}",
           "\"01:00.0\" is no PCI address"},
      Case{"upper case", "{description: x, gpus: [{model: t4, busId: '0000:0F:00.0', root: 'pci0000:00'}]}",
           "in lower case"},
      Case{"root", "{description: x, gpus: [{model: t4, busId: '0000:01:00.0', root: '0000:00'}]}", "is no PCI root"},
      Case{"domains", "{description: x, gpus: [{model: t4, busId: '0001:01:00.0', root: 'pci0000:00'}]}",
           "different PCI domains"},
      Case{"duplicate bus id",
           "{description: x, gpus: [{model: t4, busId: '0000:01:00.0', root: 'pci0000:00'},"
           " {model: l4, busId: '0000:01:00.0', root: 'pci0000:00'}]}",
           "two devices have the PCI address 0000:01:00.0"},
      Case{"duplicate minor",
           "{description: x, gpus: [{model: t4, busId: '0000:01:00.0', root: 'pci0000:00'},"
           " {model: l4, busId: '0000:02:00.0', root: 'pci0000:00', minor: 0}]}",
           "minor 0 is taken"},
      Case{"numa node", "{description: x, gpus: [{model: t4, busId: '0000:01:00.0', root: 'pci0000:00', numa: 1}]}",
           "there is no NUMA node 1"},
      Case{"MIG on T4", "{description: x, gpus: [{model: t4, busId: '0000:01:00.0', root: 'pci0000:00', mig: {}}]}",
           "Tesla T4 has no MIG"},
      Case{"MIG profile",
           "{description: x, gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00',"
           " mig: {instances: [2g.20gb]}}]}",
           "has no MIG profile \"2g.20gb\"; known: 1g.5gb, "},
      Case{"overlap",
           "{description: x, gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00',"
           " mig: {instances: [3g.20gb@0, 2g.10gb@2]}}]}",
           "MIG instance 2g.10gb@2: no free placement; free: 1g.5gb ×3"},
      Case{"bad placement",
           "{description: x, gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00',"
           " mig: {instances: [2g.10gb@1]}}]}",
           "no such profile or placement"},
      Case{"bad cut",
           "{description: x, gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00',"
           " mig: {instances: [2g.10gb/3c]}}]}",
           "cannot be cut into 3c"},
      Case{"garbled instance",
           "{description: x, gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00',"
           " mig: {instances: [2g.10gb@x]}}]}",
           "gpus[0].mig.instances[0]: \"2g.10gb@x\" is not a valid value"},
      Case{"Maxwell on the open module",
           "{description: x, gpus: [{model: quadro-m6000, busId: '0000:01:00.0', root: 'pci0000:00'}]}",
           "driver: {open: false}"},
      Case{"driver version", "{description: x, driver: {version: latest}}", "\"latest\" is no driver version"},
      Case{"header", "{description: x, driver: {nvmlHeader: \"13\"}}", "is no NVML version"},
      Case{"no switches",
           "{description: x, nvlink: {through: switches},"
           " gpus: [{model: a100-sxm4-40gb, busId: '0000:01:00.0', root: 'pci0000:00'}]}",
           "through switches, but there are none"},
      Case{"no NVLink",
           "{description: x, nvlink: {through: external},"
           " gpus: [{model: t4, busId: '0000:01:00.0', root: 'pci0000:00'}]}",
           "no GPU of this machine has NVLink"},
      Case{"fabric", "{description: x, fabric: {}}", "no GPU of this machine has the fabric API"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto machine = LoadText(c.text);
    ASSERT_FALSE(machine);
    EXPECT_THAT(machine.error().Text(), HasSubstr(c.message));
    EXPECT_THAT(machine.error().Text(), HasSubstr("given.yaml"));
  }
}

TEST(Profile, UnknownNamesSuggestNearOnes) {
  const auto machine = LoadProfile(kData, "dgx-h10");
  ASSERT_FALSE(machine);
  EXPECT_THAT(machine.error().Text(), HasSubstr("did you mean \"dgx-h100\"?"));
  EXPECT_FALSE(LoadProfile(kData, "/nonexistent/x.yaml"));
}

TEST(Profile, NewOnesLoadForEveryModelAndCount) {
  const auto models = ListModels(kData);
  ASSERT_TRUE(models);
  for (const std::string& model : *models) {
    for (const unsigned count : {1U, 2U, 3U, 8U, 32U}) {
      SCOPED_TRACE(Format("{} x {}", count, model));
      const auto text = NewProfile(kData, model, count);
      ASSERT_TRUE(text) << text.error().Text();
      const auto machine = LoadText(*text);
      ASSERT_TRUE(machine) << machine.error().Text() << *text;
      EXPECT_EQ(machine->gpus.size(), count);
    }
  }
  EXPECT_FALSE(NewProfile(kData, "t4", 0));
  EXPECT_FALSE(NewProfile(kData, "t4", 33));
}

TEST(Profile, NewOnesAreWiredAsUsual) {
  const auto load = [](const std::string& model) { return LoadText(NewProfile(kData, model, 4).value()).value(); };
  EXPECT_EQ(load("a100-sxm4-40gb").switches.size(), 6U);
  EXPECT_EQ(load("h100-sxm5-80gb").switches.size(), 4U);
  EXPECT_EQ(load("a100-pcie-80gb").gpus[0].links[0].remote_type, 0U);
  EXPECT_TRUE(load("b200-sxm-180gb").gpus[0].links[0].up);
  EXPECT_EQ(load("gb200").gpus[3].bus_id, "0019:01:00.0");
  EXPECT_TRUE(load("l4").gpus[0].links.empty());
  EXPECT_FALSE(load("geforce-gtx-1080").open_kernel_module);
}

}  // namespace
}  // namespace tessera::sim
