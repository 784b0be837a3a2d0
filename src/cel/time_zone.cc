#include "cel/time_zone.h"

#include <algorithm>
#include <string>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::cel {
namespace {

constexpr std::string_view kZoneFiles = "/usr/share/zoneinfo/";
constexpr std::size_t kMaxZoneFile = std::size_t{64} * 1024;
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kHeader = 44;

// "+hh:mm", "-hh:mm" or "hh:mm".
std::optional<std::int64_t> FixedOffset(std::string_view zone) {
  const bool negative = zone.starts_with('-');
  if (negative || zone.starts_with('+')) zone.remove_prefix(1);
  const auto parts = Cut(zone, ":");
  if (!parts || parts->first.size() != 2 || parts->second.size() != 2) return std::nullopt;
  const auto hours = ParseNumber<std::uint8_t>(parts->first);
  const auto minutes = ParseNumber<std::uint8_t>(parts->second);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t offset = *hours * 3600 + *minutes * 60;
  return negative ? -offset : offset;
}

// A name that stays below the folder of zone files, whatever an expression says.
bool IsZoneName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").contains(c);
  };
  return !name.empty() && name.size() <= kMaxName && !name.starts_with('/') && std::ranges::all_of(name, allowed);
}

std::int64_t BigEndian(std::string_view bytes) {
  std::uint64_t value = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

// The counts of a TZif header (RFC 8536), and the size of what follows it when times have `width` bytes.
struct Counts {
  std::size_t times = 0;
  std::size_t types = 0;
  std::size_t body = 0;
};

std::optional<Counts> ReadHeader(std::string_view file, std::size_t width) {
  if (file.size() < kHeader || !file.starts_with("TZif")) return std::nullopt;
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(BigEndian(file.substr(20 + 4 * i, 4)) & 0xFFFF);
  };
  Counts counts{.times = count(3), .types = count(4)};
  counts.body = counts.times * (width + 1) + counts.types * 6 + count(5) + count(2) * (width + 4) + count(1) + count(0);
  if (file.size() < kHeader + counts.body || counts.types == 0) return std::nullopt;
  return counts;
}

// The offset of the last transition at or before the moment; the first type's before all of them. The files that
// Debian installs list transitions up to 2037; from then on the last one counts.
std::optional<std::int64_t> OffsetInFile(std::string_view file, std::int64_t seconds) {
  const auto first = ReadHeader(file, 4);
  if (!first || file.size() < 2 * kHeader + first->body) return std::nullopt;
  const std::string_view second = file.substr(kHeader + first->body);
  const auto counts = ReadHeader(second, 8);
  if (!counts) return std::nullopt;
  const std::string_view times = second.substr(kHeader, counts->times * 8);
  const std::string_view indexes = second.substr(kHeader + times.size(), counts->times);
  const std::string_view types = second.substr(kHeader + times.size() + indexes.size(), counts->types * 6);
  std::size_t type = 0;
  for (std::size_t i = 0; i < counts->times && BigEndian(times.substr(i * 8, 8)) <= seconds; ++i) {
    type = static_cast<unsigned char>(indexes[i]);
  }
  return type < counts->types ? std::optional(BigEndian(types.substr(type * 6, 4))) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds) {
  if (zone.empty() || zone == "UTC") return 0;
  if (zone.contains(':')) return FixedOffset(zone);
  if (!IsZoneName(zone)) return std::nullopt;
  const auto file = ReadFile(std::string(kZoneFiles).append(zone), kMaxZoneFile);
  return file ? OffsetInFile(*file, seconds) : std::nullopt;
}

}  // namespace tessera::cel
