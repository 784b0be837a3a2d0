// cel/regex.h: how patterns are compiled, everywhere in cel/.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string_view>

namespace tessera::cel {

inline re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// ok() says whether it is one. Patterns come from users, so one may not grow beyond 2 MiB.
inline std::unique_ptr<re2::RE2> CompileRegex(std::string_view pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(2 << 20);
  return std::make_unique<re2::RE2>(Piece(pattern), options);
}

}  // namespace tessera::cel
