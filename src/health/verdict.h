// health/verdict.h: what others say of a device: DCGM, node-problem-detector, a person. One small file each.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "health/terms.h"

namespace tessera::health {

inline constexpr std::size_t kMaxVerdicts = 256;
inline constexpr std::size_t kMaxVerdictSize = std::size_t{16} << 10;
inline constexpr std::size_t kMaxVerdictText = 256;  // Bytes of a reason or a source.

struct Verdict {
  std::string file;    // Its name: the verdict's identity.
  std::string device;  // UUID of a GPU or MIG device, index, PCI address, or name.
  // kNone is "healthy": it was repaired. That counts as a reset for everything seen before `written`, and outweighs
  // nothing that is still there.
  Severity severity = Severity::kNone;
  std::string reason, source;
  std::optional<std::chrono::system_clock::time_point> expires;
  std::chrono::system_clock::time_point written;  // The file's own time.
  bool operator==(const Verdict&) const = default;
};

// The content of one file, YAML or JSON. An error says what is wrong with it.
Result<Verdict> ParseVerdict(std::string_view text);

struct Verdicts {
  std::vector<Verdict> verdicts;  // By file name.
  std::vector<Error> problems;    // Files that were skipped, and why.
};

// All *.yaml, *.yml and *.json in `directory`; other names and hidden files are not looked at. Links are followed only
// within the directory, as a mounted ConfigMap has them. A directory that is not there holds no verdicts.
Verdicts ReadVerdicts(const std::filesystem::path& directory);

}  // namespace tessera::health
