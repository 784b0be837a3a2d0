#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tessera {
namespace {

// Levenshtein distance, ignoring case: "productname" is one slip away from nothing but "productName".
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
      const std::size_t next = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j + 1];
      row[j + 1] = next;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::pair<std::string_view, std::string_view>> Cut(std::string_view text, std::string_view separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair{text.substr(0, at), text.substr(at + separator.size())};
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != parts.data()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string Counted(std::size_t count, std::string_view noun) {
  return Format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view Clip(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return text.substr(0, limit);
}

bool IsDnsSubdomain(std::string_view text, std::size_t limit) {
  if (text.size() > limit) return false;
  return std::ranges::all_of(Split(text, '.'), [](std::string_view label) {
    return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
           label.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
  });
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          quoted += Format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          quoted += c;
        }
    }
  }
  return quoted + '"';
}

std::optional<std::string_view> NearMatch(std::string_view text, std::span<const std::string_view> candidates) {
  // Two letters swapped are two edits; more than a third of the letters wrong is another word, not a slip.
  std::size_t best = (text.size() < 4 ? 1 : std::max<std::size_t>(2, text.size() / 3)) + 1;
  std::optional<std::string_view> match;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(text, candidate);
    if (distance < best) {
      best = distance;
      match = candidate;
    }
  }
  return match;
}

}  // namespace tessera
