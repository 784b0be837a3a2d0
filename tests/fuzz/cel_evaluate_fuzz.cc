// A device selector of a stranger, from text to answer: the same answer each time, within its cost.
#include <array>

#include "cel/device_selector.h"
#include "cel/test_device.h"
#include "tests/fuzz/target.h"

namespace tessera {
namespace {

// The first byte chooses the release, the environment and the gates.
cel::Environment EnvironmentOf(unsigned char flags) {
  constexpr std::array kReleases{cel::Release::k1_34, cel::Release::k1_35, cel::Release::k1_36, cel::Release::k1_37};
  return {.release = kReleases[flags & 3U],
          .use = (flags & 4U) == 0 ? cel::Use::kNewExpression : cel::Use::kStoredExpression,
          .consumable_capacity_gate = (flags & 8U) == 0,
          .list_type_attributes_gate = (flags & 16U) != 0};
}

std::string Text(const Result<bool>& match) {
  if (!match) return match.error().Text();
  return *match ? "true" : "false";
}

}  // namespace

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  const cel::Environment environment = EnvironmentOf(static_cast<unsigned char>(input.front()));
  const auto selector = cel::Compile(input.substr(1), environment);
  if (!selector) return Require(!selector.error().message().empty(), "a refusal has a reason");
  static const std::array kDevices{cel::TestGpu(), cel::DeviceFacts{.driver = "other.example.com"}};
  for (const cel::DeviceFacts& device : kDevices) {
    const auto first = selector->Evaluate(device);
    const auto second = selector->Evaluate(device);
    Require(Text(first.match) == Text(second.match) && first.cost == second.cost, "the same answer each time");
  }
}

}  // namespace tessera
