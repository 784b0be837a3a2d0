#include "api/device_facts.h"

namespace tessera::api {

cel::DeviceFacts FactsOf(const Device& device, std::string_view driver) {
  cel::DeviceFacts facts;
  facts.driver = driver;
  for (const auto& attribute : device.attributes) {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Version>) {
            cel::AddVersion(facts, attribute.first, value.text);
          } else {
            cel::AddAttribute(facts, attribute.first, value);
          }
        },
        attribute.second);
  }
  for (const auto& [name, quantity] : device.capacity) cel::AddCapacity(facts, name, quantity);
  return facts;
}

}  // namespace tessera::api
