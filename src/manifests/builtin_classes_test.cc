#include "manifests/builtin_classes.h"

#include <gtest/gtest.h>

#include "manifests/objects.h"
#include "tests/support/paths.h"

namespace tessera::manifests {
namespace {

// The rendered chart is held equal to the chart by `make chart-test`.
TEST(BuiltinClasses, AreThoseOfTheChart) {
  Objects chart;
  const auto read = ReadInto(chart, TESSERA_SOURCE_DIR "/tests/chart/golden/defaults.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  const std::vector<api::DeviceClass> ours = BuiltinClasses();
  ASSERT_EQ(ours.size(), chart.classes.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const api::DeviceClass& theirs = chart.classes[i].object;
    EXPECT_EQ(ours[i].name, theirs.name);
    EXPECT_EQ(ours[i].selectors, theirs.selectors);
    EXPECT_TRUE(theirs.configs.empty());
  }
}

}  // namespace
}  // namespace tessera::manifests
