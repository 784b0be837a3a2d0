// inspect/table.h: columns of text, as kubectl prints them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inspect {

enum class Tone : std::uint8_t { kPlain, kGood, kBad, kFaint };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  // Columns as wide as their widest cell; tones become colours only when asked for.
  std::string Print(bool color) const;

 private:
  const std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

// "text" in the colour of its tone.
std::string Paint(const std::string& text, Tone tone, bool color);

}  // namespace tessera::inspect
