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

// Each kind of list, and allocations that share it.
cel::DeviceFacts SharedNic() {
  cel::DeviceFacts nic{.driver = "nic.example.com", .allow_multiple_allocations = true};
  AddAttribute(nic, "rails", std::vector<std::int64_t>{1, 3, 5});
  AddAttribute(nic, "modes", std::vector<bool>{true, false});
  AddAttribute(nic, "roots", std::vector<std::string>{"pci0000:40", "pci0000:c1"});
  AddAttribute(nic, "firmware", std::vector<Semver>{{.major = 1, .minor = 2, .patch = 3}, {.major = 28}});
  AddCapacity(nic, "bandwidth", Quantity::Parse("400G").value());
  return nic;
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
  static const std::array kDevices{cel::TestGpu(), SharedNic(), cel::DeviceFacts{.driver = "other.example.com"}};
  for (const cel::DeviceFacts& device : kDevices) {
    const auto first = selector->Evaluate(device);
    const auto second = selector->Evaluate(device);
    Require(Text(first.match) == Text(second.match) && first.cost == second.cost, "the same answer each time");
  }
}

}  // namespace tessera
