#include "health/verdict.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::health {
namespace {

struct VerdictText {
  json::Value device;  // A number is an index.
  std::string state;
  std::string reason, source, expires;
};

template <class F>
void Describe(F& f, VerdictText& v) {
  f.Required("device", v.device);
  f.Required("state", v.state);
  f.Required("reason", v.reason);
  f.Optional("source", v.source);
  f.Optional("expires", v.expires);
  f.Check(v.device.is_string() || v.device.is_int64(), "device", "must be a UUID, an index, a PCI address or a name");
  f.Check(!v.reason.empty() && v.reason.size() <= kMaxVerdictText, "reason",
          Format("must have 1 to {} bytes", kMaxVerdictText));
  f.Check(v.source.size() <= kMaxVerdictText, "source", Format("must have at most {} bytes", kMaxVerdictText));
}

std::unexpected<Error> Bad(std::string_view what) {
  return BadConfig("VerdictInvalid", std::string(what), "correct or remove the file; docs/health.md shows its form");
}

// "healthy", and the severities but for "none".
std::optional<Severity> SeverityOf(std::string_view state) {
  Severity severity{};
  if (state == "healthy") return Severity::kNone;
  return FromText(state, severity) && severity != Severity::kNone ? std::optional(severity) : std::nullopt;
}

// One line: it goes into messages and logs.
std::string OneLine(std::string_view text) {
  std::string line(Trim(text));
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return line;
}

bool IsVerdictName(std::string_view name) {
  if (name.starts_with('.')) return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

// Never out of the directory, never through a FIFO. Kernels before 5.6 follow no link at all.
UniqueFd OpenBeneath(int directory, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  UniqueFd file{static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how))};
  if (file || errno != ENOSYS) return file;
  return UniqueFd{::openat(directory, name.c_str(), kFlags | O_NOFOLLOW)};
}

Result<std::string> ReadBounded(int file) {
  std::string content(kMaxVerdictSize + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(file, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "VerdictUnreadable", "reading it");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxVerdictSize) return Bad(Format("larger than {} bytes", kMaxVerdictSize));
  content.resize(size);
  return content;
}

Result<Verdict> ReadOne(int directory, const std::string& name) {
  const UniqueFd file = OpenBeneath(directory, name);
  if (!file) return FromErrno(errno, "VerdictUnreadable", "opening it");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return FromErrno(errno, "VerdictUnreadable", "looking at it");
  if (!S_ISREG(status.st_mode)) return Bad("not a regular file");
  TESSERA_ASSIGN(const std::string text, ReadBounded(file.get()));
  TESSERA_ASSIGN(Verdict verdict, ParseVerdict(text));
  verdict.file = name;
  verdict.written = std::chrono::system_clock::time_point{std::chrono::seconds{status.st_mtim.tv_sec} +
                                                          std::chrono::nanoseconds{status.st_mtim.tv_nsec}};
  return verdict;
}

struct CloseDir {
  void operator()(DIR* dir) const noexcept { ::closedir(dir); }
};

}  // namespace

Result<Verdict> ParseVerdict(std::string_view text) {
  const auto documents = json::ParseYaml(text);
  if (!documents.has_value()) return Bad(documents.error().message());
  if (documents->size() != 1) return Bad(Format("holds {} documents instead of one", documents->size()));
  const auto decoded = json::Decode<VerdictText>(documents->front());
  if (!decoded.has_value()) return Bad(decoded.error().message());

  Verdict verdict;
  verdict.device = decoded->device.is_string() ? OneLine(std::string_view(decoded->device.get_string()))
                                               : Format("{}", decoded->device.get_int64());
  if (verdict.device.empty()) return Bad("device: is empty");
  const auto severity = SeverityOf(decoded->state);
  if (!severity) {
    return Bad(Format("state: {} is not healthy, degraded, unusable or lost", Quote(Clip(decoded->state, 60))));
  }
  verdict.severity = *severity;
  verdict.reason = OneLine(decoded->reason);
  verdict.source = OneLine(decoded->source);
  if (decoded->expires.empty()) return verdict;
  verdict.expires = ParseRfc3339(decoded->expires);
  if (!verdict.expires) {
    return Bad(Format("expires: {} is no time such as 2026-11-15T18:00:00Z", Quote(Clip(decoded->expires, 60))));
  }
  return verdict;
}

Verdicts ReadVerdicts(const std::filesystem::path& directory) {
  Verdicts result;
  const auto problem = [&](std::unexpected<Error> error, const std::string& name) {
    result.problems.push_back(std::move(error.error()).Wrap(Format("verdict {}", (directory / name).string())));
  };
  UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd && errno == ENOENT) return result;
  if (!fd) {
    problem(FromErrno(errno, "VerdictUnreadable", "opening the directory"), "");
    return result;
  }
  const std::unique_ptr<DIR, CloseDir> entries{::fdopendir(fd.get())};
  if (!entries) Abort("fdopendir() of a directory failed");
  (void)fd.Release();  // It is the stream's now.

  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (IsVerdictName(entry->d_name) && names.size() <= kMaxVerdicts) names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  if (names.size() > kMaxVerdicts) {
    names.resize(kMaxVerdicts);
    problem(BadConfig("TooManyVerdicts", Format("more than {} files; the others are not read", kMaxVerdicts),
                      "remove files of devices that are well"),
            "");
  }
  for (const std::string& name : names) {
    auto verdict = ReadOne(::dirfd(entries.get()), name);
    if (verdict.has_value()) {
      result.verdicts.push_back(*std::move(verdict));
    } else {
      problem(std::unexpected(std::move(verdict).error()), name);
    }
  }
  return result;
}

}  // namespace tessera::health
