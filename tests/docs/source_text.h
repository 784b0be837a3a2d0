// tests/docs/source_text.h: looks for literals in the sources, so that pages and tables can be held to them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// All sources below a folder, tests left out.
std::string Sources(const std::filesystem::path& folder);

// What follows `marker` in `text`, each time.
std::vector<std::string_view> After(std::string_view text, std::string_view marker);

// The literal that `text` begins with, blanks aside.
std::optional<std::string> Literal(std::string_view text);

// Whether it is in PascalCase, as codes and reasons are.
bool IsCode(std::string_view text);

}  // namespace tessera
