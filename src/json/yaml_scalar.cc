#include "json/yaml_scalar.h"

#include <charconv>
#include <optional>
#include <string>

#include "base/text.h"

namespace tessera::json {
namespace {

// YAML's spellings of a number that JSON lacks: 0x1F, 0o17, 017, 1_000, +1, .5, 1., .inf
std::optional<Value> ParseInteger(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  bool negative = false;
  if (digits.starts_with('+') || digits.starts_with('-')) {
    negative = digits.front() == '-';
    digits.erase(0, 1);
  }
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0o") || digits.starts_with("0b")) {
    base = digits[1] == 'x' ? 16 : digits[1] == 'o' ? 8 : 2;
    digits.erase(0, 2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;  // YAML 1.1, which Kubernetes reads: file modes such as 0644.
  }
  const auto magnitude = ParseNumber<std::uint64_t>(digits, base);
  if (!magnitude) return std::nullopt;
  constexpr auto kMin = std::uint64_t{1} << 63;
  if (negative) {
    if (*magnitude > kMin) return std::nullopt;
    return Value(static_cast<std::int64_t>(0 - *magnitude));
  }
  if (*magnitude < kMin) return Value(static_cast<std::int64_t>(*magnitude));
  return Value(*magnitude);
}

std::optional<Value> ParseFloat(std::string_view text) {
  if (text.find_first_not_of("0123456789+-.eE_") != std::string_view::npos) return std::nullopt;
  if (text.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.starts_with('+')) digits.erase(0, 1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return Value(number);
}

}  // namespace

Value ResolveYamlScalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Value(nullptr);
  for (const std::string_view word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}) {
    if (text == word) return Value(true);
  }
  for (const std::string_view word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}) {
    if (text == word) return Value(false);
  }
  if (const char first = text.front(); first == '+' || first == '-' || first == '.' || (first >= '0' && first <= '9')) {
    if (const auto integer = ParseInteger(text)) return *integer;
    if (const auto number = ParseFloat(text)) return *number;
  }
  return Value(text);
}

}  // namespace tessera::json
