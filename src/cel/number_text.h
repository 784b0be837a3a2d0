// cel/number_text.h: numbers, durations and timestamps as text, printed and read as Go does it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace tessera::cel {

std::string PrintDouble(double value);             // strconv's 'g', shortest: "1e+06", "0.5", "NaN", "+Inf"
std::string PrintFixed(double value, int digits);  // strconv's 'f'; digits < 0: as many as it takes
std::optional<double> ParseDouble(std::string_view text);

std::string PrintDuration(std::int64_t nanos);                     // In seconds: "90s", "0.001s"
std::optional<std::int64_t> ParseDuration(std::string_view text);  // "1h30m", "-1.5s"

std::string PrintTime(const Timestamp& time);               // RFC 3339, UTC
std::optional<Timestamp> ParseTime(std::string_view text);  // RFC 3339; may be out of CEL's range

}  // namespace tessera::cel
