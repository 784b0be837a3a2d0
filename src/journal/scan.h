// journal/scan.h: a file line by line, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "journal/contents.h"

namespace tessera::journal {

struct RawLine {
  Span where;
  std::string_view text;     // At most kMaxLine bytes of it. Valid during the call.
  bool has_newline = false;  // Only the last line may have none.
};

// Every line of the file's bytes [from, to).
Result<void> ForEachLine(int fd, std::uint64_t from, std::uint64_t to, const std::function<void(const RawLine&)>& take);

}  // namespace tessera::journal
