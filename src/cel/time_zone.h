// cel/time_zone.h: how far a zone is from UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::cel {

// Seconds east of UTC at a moment (seconds since 1970, UTC). The zone is "+hh:mm", "-hh:mm", "hh:mm", "UTC", or a name
// of the machine's zone files ("Europe/Paris"); nothing when it is none of these.
std::optional<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds);

}  // namespace tessera::cel
