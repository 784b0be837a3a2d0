#include "inspect/table.h"

#include <algorithm>
#include <string_view>

namespace tessera::inspect {
namespace {

// Characters, not bytes: product names may hold any.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string Paint(const std::string& text, Tone tone, bool color) {
  if (!color || tone == Tone::kPlain) return text;
  const std::string_view code = tone == Tone::kGood ? "32" : tone == Tone::kBad ? "31" : "2";
  return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

std::string Table::Print(bool color) const {
  std::vector<std::size_t> widths;
  for (const std::string& title : header_) widths.push_back(Width(title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i].text));
  }
  std::string out;
  const auto put = [&](std::size_t column, const std::string& text, Tone tone) {
    out += Paint(text, tone, color);
    const bool last = column + 1 == header_.size();
    out += last ? "\n" : std::string(widths[column] - Width(text) + 3, ' ');
  };
  for (std::size_t i = 0; i < header_.size(); ++i) put(i, header_[i], Tone::kPlain);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) put(i, row[i].text, row[i].tone);
  }
  return out;
}

}  // namespace tessera::inspect
