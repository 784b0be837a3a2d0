// tests/alloc/problem_parts.h: what generated problems have in common, whatever their devices are: classes, claims, and
// what other claims hold.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "tests/alloc/dice.h"

namespace tessera::tests {

// What one problem is about; several may be on.
struct Flavour {
  bool partitions, shares, taints, constraints, alternatives, admin, several_nodes, odd_pools, held;
};
Flavour RollFlavour(Dice& dice);

// What claims say of devices.
struct Vocabulary {
  std::string_view driver;
  std::span<const std::string_view> selectors;
  std::span<const std::string_view> careless;    // Stop the scheduler at a device that does not have what they name.
  std::span<const std::string_view> attributes;  // Of constraints.
  std::span<const std::int64_t> counts;          // Of devices, where it is more than one.
};

// {"key": value}.
json::Object One(std::string_view key, json::Value value);
json::Object One(std::string_view key, std::string_view text);
json::Object One(std::string_view key, const char* text);

// Gives the device a taint, sometimes.
void MaybeTaint(Dice& dice, json::Object& device);
// What shares may take of a capacity: values, or a range.
json::Object RollPolicy(Dice& dice);
// Allocation results of other claims, for some of the slices' devices.
json::Array HoldSome(Dice& dice, const json::Array& slices);

class ClaimGenerator {
 public:
  ClaimGenerator(Dice& dice, const Flavour& flavour, const Vocabulary& words)
      : dice_(dice), flavour_(flavour), words_(words) {}

  // One to three claims.
  json::Array MakeClaims();
  // Those that the claims name, whatever they are.
  json::Array MakeClasses();

 private:
  json::Object MakeClaim(std::size_t number);
  json::Object MakeRequest(std::size_t number, std::vector<std::string>& names);
  json::Object MakeDeviceRequest(bool exactly);
  std::string_view PickSelector();
  std::string_view PickClass();
  std::int64_t PickCount();
  json::Object MakeToleration();
  json::Object MakeAmounts();
  json::Array Subset(const std::vector<std::string>& names);
  json::Array MakeConstraints(const std::vector<std::string>& names);
  json::Array MakeConfig(const std::vector<std::string>& names);

  Dice& dice_;
  const Flavour& flavour_;
  const Vocabulary& words_;
};

}  // namespace tessera::tests
