#include "driver/inventory_loop.h"

#include <gtest/gtest.h>

namespace tessera::driver {
namespace {

TEST(IsBelow, GoesByWholeComponents) {
  struct Case {
    std::string_view path, root;
    bool below;
  };
  constexpr Case kCases[]{
      {"/run/nvidia/driver/lib64/libnvidia-ml.so.1", "/run/nvidia/driver", true},
      {"/run/nvidia/driver/lib64/libnvidia-ml.so.1", "/run/nvidia/driver/", true},
      {"/run/nvidia/driver", "/run/nvidia/driver", true},
      {"/run/nvidia/drivers/lib64/libnvidia-ml.so.1", "/run/nvidia/driver", false},
      {"/run/nvidia/lib64/libnvidia-ml.so.1", "/run/nvidia/driver", false},
      {"/run", "/run/nvidia/driver", false},
      {"/run/nvidia/driver/../lib64/libnvidia-ml.so.1", "/run/nvidia/driver", false},
      {"/usr/lib/libnvidia-ml.so.1", "/", true},
      {"libnvidia-ml.so.1", "/", false},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(IsBelow(c.path, c.root), c.below) << c.root;
  }
}

}  // namespace
}  // namespace tessera::driver
