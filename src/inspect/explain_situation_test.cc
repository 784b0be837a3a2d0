#include "inspect/explain_situation.h"

#include <gtest/gtest.h>

namespace tessera::inspect {
namespace {

// The device is gpu-0 in pool node-a of gpu.nvidia.com.
TEST(Selects, ARuleTaintsWhatItsSelectorNames) {
  struct Case {
    std::string_view name;
    bool has_selector;
    std::optional<std::string> driver, pool, device;
    bool in_1_36, in_1_37;
  };
  const std::vector<Case> cases{
      {"no selector", false, {}, {}, {}, true, false},
      {"an empty selector", true, {}, {}, {}, true, true},
      {"its driver", true, "gpu.nvidia.com", {}, {}, true, true},
      {"another driver", true, "nic.example.com", {}, {}, false, false},
      {"its pool", true, {}, "node-a", {}, true, true},
      {"another pool", true, {}, "node-b", {}, false, false},
      {"its name in any pool", true, {}, {}, "gpu-0", true, true},
      {"another device", true, {}, {}, "gpu-1", false, false},
      {"all three", true, "gpu.nvidia.com", "node-a", "gpu-0", true, true},
      {"its name in another pool", true, "gpu.nvidia.com", "node-b", "gpu-0", false, false},
      {"its name and pool of another driver", true, "nic.example.com", "node-a", "gpu-0", false, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const manifests::TaintRule rule{
        .has_selector = c.has_selector, .driver = c.driver, .pool = c.pool, .device = c.device};
    const auto selects = [&](cel::Release release) {
      return Selects(rule, alloc::RulesFor(release), "gpu.nvidia.com", "node-a", "gpu-0");
    };
    EXPECT_EQ(selects(cel::Release::k1_36), c.in_1_36);
    EXPECT_EQ(selects(cel::Release::k1_37), c.in_1_37);
  }
}

}  // namespace
}  // namespace tessera::inspect
