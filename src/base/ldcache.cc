#include "base/ldcache.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace tessera {
namespace {

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kHeaderSize = 48;
constexpr std::size_t kEntrySize = 24;
constexpr std::size_t kOldHeaderSize = 16;
constexpr std::size_t kOldEntrySize = 12;

// The cache's mark for 64-bit libraries of this architecture (glibc's FLAG_X8664_LIB64, FLAG_AARCH64_LIB64).
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = 0x0300;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = 0x0A00;
#else
#error "Tessera runs on amd64 and arm64"
#endif
constexpr std::uint32_t kElfLibc6 = 3;

std::uint32_t U32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The NUL-terminated string at `at`, or nothing when it runs off the end.
std::optional<std::string_view> StringAt(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const auto end = bytes.find('\0', at);
  if (end == std::string_view::npos) return std::nullopt;
  return bytes.substr(at, end - at);
}

// Older ldconfig writes the old table first and the new one behind it, padded to 8 bytes.
std::string_view SkipOldTable(std::string_view cache) {
  if (!cache.starts_with(kOldMagic) || cache.size() < kOldHeaderSize) return cache;
  const std::size_t size = kOldHeaderSize + std::size_t{U32(cache, 12)} * kOldEntrySize;
  const std::size_t padded = (size + 7) / 8 * 8;
  return padded <= cache.size() ? cache.substr(padded) : std::string_view();
}

}  // namespace

Result<std::vector<std::string>> LdCachePaths(std::string_view cache, std::string_view library) {
  cache = SkipOldTable(cache);
  if (!cache.starts_with(kMagic) || cache.size() < kHeaderSize) {
    return BadConfig("BadLdCache", "not a loader cache of glibc", "run ldconfig in that root");
  }
  const std::size_t count = U32(cache, 20);
  if (count > (cache.size() - kHeaderSize) / kEntrySize)
    return BadConfig("BadLdCache", "the loader cache is cut short");

  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = kHeaderSize + i * kEntrySize;
    if (U32(cache, entry) != (kArchitecture | kElfLibc6)) continue;
    const auto name = StringAt(cache, U32(cache, entry + 4));
    const auto path = StringAt(cache, U32(cache, entry + 8));
    if (name == library && path) paths.emplace_back(*path);
  }
  return paths;
}

}  // namespace tessera
