// inspect/screen.h: lines for a person's terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inspect {

class Screen {
 public:
  static constexpr std::size_t kUsual = 240;
  static constexpr std::size_t kWide = 600;  // What a driver says of a failure is worth more than a line.

  // One line, without what objects of the cluster could do to a terminal.
  void Line(int indent, std::string_view text, std::size_t width = kUsual);
  // Its own lines, such as an expression with a caret below.
  void Lines(int indent, std::string_view text);
  void Gap() { lines_.emplace_back(); }
  void Add(const Screen& other);

  std::size_t size() const { return lines_.size(); }
  // Leaves out what comes after so many lines.
  void Shorten(std::size_t lines);

  // The text of all lines; there are none then.
  std::string Take();

 private:
  std::vector<std::string> lines_;
};

// Ends a line that counts what was left out, where there is that flag.
inline constexpr std::string_view kJsonHasAll = "; -o json has them all";

}  // namespace tessera::inspect
