#include "alloc/attribute_values.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"

namespace tessera::alloc {
namespace {

// Equal for equal values of one type.
struct Printer {
  std::string operator()(std::int64_t value) const { return Format("i{}", value); }
  std::string operator()(bool value) const { return value ? "b1" : "b0"; }
  std::string operator()(const std::string& value) const { return "s" + value; }
  std::string operator()(const api::Version& value) const { return "v" + value.text; }
};

class Numbering {
 public:
  explicit Numbering(bool sets) : sets_(sets) {}

  std::vector<std::uint32_t> Of(const api::Attribute& attribute, std::uint32_t device) {
    return std::visit([&](const auto& value) { return OfValue(value, device); }, attribute);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(known_.size()); }

 private:
  template <class T>
  std::vector<std::uint32_t> OfValue(const T& value, std::uint32_t) {
    return {Number(Printer{}(value))};
  }
  template <class T>
  std::vector<std::uint32_t> OfValue(const std::vector<T>& values, std::uint32_t device) {
    if (!sets_) return {Number(Format("l{}", device))};  // Like no other value.
    std::vector<std::uint32_t> numbers;
    for (const T& value : values) numbers.push_back(Number(Printer{}(value)));
    std::ranges::sort(numbers);
    numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
    return numbers;
  }
  std::uint32_t Number(std::string key) { return known_.emplace(std::move(key), count()).first->second; }

  bool sets_;
  std::map<std::string, std::uint32_t> known_;
};

}  // namespace

AttributeValues::AttributeValues(const PlannedConstraint& constraint, const std::vector<Candidate>& devices) {
  Numbering numbering(constraint.compares_sets());
  first_.reserve(devices.size() + 1);
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    first_.push_back(static_cast<std::uint32_t>(numbers_.size()));
    const api::Attribute* attribute = FindAttribute(devices[device], constraint.attribute());
    if (attribute != nullptr) std::ranges::copy(numbering.Of(*attribute, device), std::back_inserter(numbers_));
  }
  first_.push_back(static_cast<std::uint32_t>(numbers_.size()));
  count_ = numbering.count();
}

}  // namespace tessera::alloc
