// cel/source.h: where in an expression something is wrong, told the way Kubernetes tells it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cel {

// One finding about an expression. `offset` is in bytes; the hint, which may be empty, says what was probably meant.
struct Problem {
  std::uint32_t offset = 0;
  std::string message;
  std::string hint;
};

// Both from 1; columns count characters, not bytes.
struct Location {
  int line = 1;
  int column = 1;
};

Location Locate(std::string_view expression, std::uint32_t offset);

// For each problem a message, the line it is on, and a caret under it:
//
//   ERROR: <input>:1:7: undefined field 'drver'
//    | device.drver == 'gpu.nvidia.com'
//    | ......^
std::string Render(std::string_view expression, std::span<const Problem> problems);

}  // namespace tessera::cel
