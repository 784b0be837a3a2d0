#include "base/ldcache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

#if defined(__aarch64__)
constexpr std::uint32_t kNative = 0x0A03;
#else
constexpr std::uint32_t kNative = 0x0303;
#endif

struct Entry {
  std::uint32_t flags;
  std::string name, path;
};

void Append(std::string& out, std::uint32_t value) { out.append(reinterpret_cast<const char*>(&value), 4); }

std::string MakeCache(const std::vector<Entry>& entries) {
  std::string strings;
  std::string table;
  const auto base = static_cast<std::uint32_t>(48 + entries.size() * 24);
  for (const Entry& entry : entries) {
    Append(table, entry.flags);
    Append(table, base + static_cast<std::uint32_t>(strings.size()));
    strings += entry.name + '\0';
    Append(table, base + static_cast<std::uint32_t>(strings.size()));
    strings += entry.path + '\0';
    table.append(12, '\0');
  }
  std::string cache = "glibc-ld.so.cache1.1";
  Append(cache, static_cast<std::uint32_t>(entries.size()));
  Append(cache, static_cast<std::uint32_t>(strings.size()));
  cache.append(20, '\0');
  return cache + table + strings;
}

const std::vector<Entry> kEntries{{kNative, "libnvidia-ml.so.1", "/opt/nvidia/lib64/libnvidia-ml.so.1"},
                                  {0x0803, "libnvidia-ml.so.1", "/lib32/libnvidia-ml.so.1"},
                                  {kNative, "libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"},
                                  {kNative, "libc.so.6", "/lib/libc.so.6"}};

TEST(LdCache, FindsNativeLibrariesInOrder) {
  EXPECT_THAT(LdCachePaths(MakeCache(kEntries), "libnvidia-ml.so.1").value(),
              ElementsAre("/opt/nvidia/lib64/libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"));
  EXPECT_THAT(LdCachePaths(MakeCache(kEntries), "libcuda.so.1").value(), IsEmpty());
}

TEST(LdCache, SkipsTheOldTable) {
  std::string old = "ld.so-1.7.0";
  old += '\0';
  Append(old, 3);
  old.append(36, 'x');  // 52 bytes, padded to 56.
  old.append(4, '\0');
  EXPECT_THAT(LdCachePaths(old + MakeCache(kEntries), "libc.so.6").value(), ElementsAre("/lib/libc.so.6"));
}

TEST(LdCache, DamageIsAnErrorOrNothing) {
  const std::string cache = MakeCache(kEntries);
  for (std::size_t size = 0; size < cache.size(); ++size) {
    const auto paths = LdCachePaths(std::string_view(cache).substr(0, size), "libc.so.6");
    if (paths.has_value()) {
      EXPECT_THAT(*paths, IsEmpty()) << size;
    }
  }
  for (std::size_t i = 0; i < cache.size(); ++i) {
    std::string flipped = cache;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xFF);
    static_cast<void>(LdCachePaths(flipped, "libc.so.6").has_value());  // Must not read outside: ASan is the judge.
  }
}

}  // namespace
}  // namespace tessera
