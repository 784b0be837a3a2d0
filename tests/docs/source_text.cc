#include "tests/docs/source_text.h"

#include <algorithm>
#include <cctype>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera {

namespace fs = std::filesystem;

std::string Sources(const fs::path& folder) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TESSERA_SOURCE_DIR) / folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_source = name.ends_with(".cc") || name.ends_with(".h");
    if (is_source && !name.ends_with("_test.cc") && !name.starts_with("test_")) text += ReadFile(entry.path()).value();
  }
  return text;
}

std::vector<std::string_view> After(std::string_view text, std::string_view marker) {
  std::vector<std::string_view> rests;
  for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
    rests.push_back(text.substr(at + marker.size()));
  }
  return rests;
}

std::optional<std::string> Literal(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos || text[begin] != '"') return std::nullopt;
  const auto literal = Cut(text.substr(begin + 1), "\"");
  return literal ? std::optional(std::string(literal->first)) : std::nullopt;
}

bool IsCode(std::string_view text) {
  return !text.empty() && std::isupper(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace tessera
