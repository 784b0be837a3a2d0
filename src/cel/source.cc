#include "cel/source.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::cel {
namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::string_view LineAt(std::string_view expression, std::uint32_t offset) {
  const std::string_view before = expression.substr(0, offset);
  const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return expression.substr(begin, expression.find('\n', offset) - begin);
}

}  // namespace

Location Locate(std::string_view expression, std::uint32_t offset) {
  Location location;
  for (const char c : expression.substr(0, offset)) {
    if (c == '\n') {
      ++location.line;
      location.column = 1;
    } else if (StartsCharacter(c)) {
      ++location.column;
    }
  }
  return location;
}

std::string Render(std::string_view expression, std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : problems) {
    const auto offset = static_cast<std::uint32_t>(std::min<std::size_t>(problem.offset, expression.size()));
    const auto [line, column] = Locate(expression, offset);
    text += Format("{}ERROR: <input>:{}:{}: {}\n | {}\n | {}^", text.empty() ? "" : "\n", line, column, problem.message,
                   LineAt(expression, offset), std::string(static_cast<std::size_t>(column - 1), '.'));
  }
  return text;
}

}  // namespace tessera::cel
