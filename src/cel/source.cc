#include "cel/source.h"

#include <algorithm>

#include "base/text.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::string_view LineAt(std::string_view expression, std::uint32_t offset) {
  const std::string_view before = expression.substr(0, offset);
  const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return expression.substr(begin, expression.find('\n', offset) - begin);
}

// Dots up to the column and a caret in it. Below a character of several bytes both are wide ones, as cel-go has them.
std::string CaretBelow(std::string_view line, int column) {
  std::string text;
  for (int i = 1; i < column && !line.empty(); ++i) {
    const std::size_t before = line.size();
    TakeCodePoint(line);
    text += before - line.size() > 1 ? "\uFF0E" : ".";
  }
  const bool wide = !line.empty() && static_cast<unsigned char>(line.front()) >= 0x80;
  return text + (wide ? "\uFF3E" : "^");
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
    const std::string_view shown = LineAt(expression, offset);
    text += Format("{}ERROR: <input>:{}:{}: {}\n | {}\n | {}", text.empty() ? "" : "\n", line, column, problem.message,
                   shown, CaretBelow(shown, column));
  }
  return text;
}

}  // namespace tessera::cel
