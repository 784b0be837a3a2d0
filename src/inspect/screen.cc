#include "inspect/screen.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera::inspect {

void Screen::Line(int indent, std::string_view text, std::size_t width) {
  std::string flat(text);
  for (char& c : flat) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  const std::string_view clipped = Clip(flat, width);
  std::string& line = lines_.emplace_back(static_cast<std::size_t>(indent), ' ').append(clipped);
  if (clipped.size() < flat.size()) line += "…";
}

void Screen::Lines(int indent, std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) Line(indent, line, kWide);
}

void Screen::Add(const Screen& other) { lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end()); }

void Screen::Shorten(std::size_t lines) { lines_.resize(std::min(lines, lines_.size())); }

std::string Screen::Take() {
  std::string text;
  for (const std::string& line : std::exchange(lines_, {})) text.append(line) += '\n';
  return text;
}

}  // namespace tessera::inspect
