#include "journal/scan.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace tessera::journal {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

// Gathers chunks and hands out lines; of one that is too long it keeps the beginning.
class Splitter {
 public:
  Splitter(std::uint64_t from, const std::function<void(const RawLine&)>& take) : line_begin_(from), take_(take) {}

  void Feed(std::string_view chunk) {
    while (!chunk.empty()) {
      const std::size_t newline = chunk.find('\n');
      const std::string_view part = chunk.substr(0, newline);
      length_ += part.size();
      line_ += part.substr(0, kMaxLine - line_.size());
      if (newline == std::string_view::npos) return;
      End(true);
      chunk.remove_prefix(newline + 1);
    }
  }
  void Finish() {
    if (length_ > 0) End(false);
  }

 private:
  void End(bool has_newline) {
    take_({{line_begin_, length_}, line_, has_newline});
    line_begin_ += length_ + (has_newline ? 1 : 0);
    length_ = 0;
    line_.clear();
  }

  std::uint64_t line_begin_;
  const std::function<void(const RawLine&)>& take_;
  std::uint64_t length_ = 0;
  std::string line_;
};

}  // namespace

Result<void> ForEachLine(int fd, std::uint64_t from, std::uint64_t to,
                         const std::function<void(const RawLine&)>& take) {
  Splitter splitter(from, take);
  std::string chunk(std::min<std::uint64_t>(kChunk, to - from), '\0');
  while (from < to) {
    const ssize_t got =
        ::pread(fd, chunk.data(), std::min<std::uint64_t>(chunk.size(), to - from), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "JournalUnreadable", "reading the journal");
    if (got == 0) break;
    splitter.Feed({chunk.data(), static_cast<std::size_t>(got)});
    from += static_cast<std::uint64_t>(got);
  }
  splitter.Finish();
  return {};
}

}  // namespace tessera::journal
