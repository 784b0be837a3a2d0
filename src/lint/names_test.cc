#include "lint/names.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera::lint {
namespace {

struct Case {
  std::string_view text;
  bool is_one;
};

TEST(Names, DnsLabels) {
  const std::string longest(63, 'a'), too_long(64, 'a');
  for (const Case& c :
       {Case{"gpu-0", true}, Case{"a", true}, Case{"0", true}, Case{longest, true}, Case{too_long, false},
        Case{"", false}, Case{"GPU", false}, Case{"a.b", false}, Case{"-a", false}, Case{"a_b", false}}) {
    EXPECT_EQ(IsDnsLabel(c.text), c.is_one) << c.text;
  }
}

TEST(Names, AttributesWithTheirDomain) {
  for (const Case& c :
       {Case{"resource.kubernetes.io/pcieRoot", true}, Case{"gpu.nvidia.com/_x1", true}, Case{"pcieRoot", false},
        Case{"gpu.nvidia.com/1x", false}, Case{"gpu.nvidia.com/", false}, Case{"/x", false}, Case{"a/b/c", false},
        Case{"gpu.nvidia.com/a-b", false}, Case{"gpu.nvidia.com/a23456789012345678901234567890123", false}}) {
    EXPECT_EQ(IsFullyQualifiedName(c.text), c.is_one) << c.text;
  }
  EXPECT_TRUE(IsQualifiedName("memory"));
}

TEST(Names, KeysAndValuesOfLabels) {
  for (const Case& c : {Case{"gpu.nvidia.com/xid", true}, Case{"a_b.c", true}, Case{"", false}, Case{"a/b/c", false},
                        Case{"-a", false}, Case{"A/b", false}}) {
    EXPECT_EQ(IsLabelKey(c.text), c.is_one) << c.text;
  }
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_FALSE(IsLabelValue("a b"));
}

TEST(Names, ExtendedResources) {
  for (const Case& c : {Case{"nvidia.com/gpu", true}, Case{"cpu", false}, Case{"kubernetes.io/x", false},
                        Case{"x.kubernetes.io/x", false}, Case{"requests.nvidia.com/gpu", false}}) {
    EXPECT_EQ(IsExtendedResource(c.text), c.is_one) << c.text;
  }
}

}  // namespace
}  // namespace tessera::lint
