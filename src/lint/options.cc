#include "lint/options.h"

#include <array>
#include <utility>

namespace tessera::lint {
namespace {

constexpr std::array kReleases{
    std::pair{std::string_view("1.34"), cel::Release::k1_34}, std::pair{std::string_view("1.35"), cel::Release::k1_35},
    std::pair{std::string_view("1.36"), cel::Release::k1_36}, std::pair{std::string_view("1.37"), cel::Release::k1_37}};

}  // namespace

std::optional<cel::Release> ParseRelease(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  for (const auto& [name, release] : kReleases) {
    if (text == name || (text.starts_with(name) && text.substr(name.size()).starts_with('.'))) return release;
  }
  return std::nullopt;
}

std::string_view ToString(cel::Release release) {
  for (const auto& [name, known] : kReleases) {
    if (known == release) return name;
  }
  std::unreachable();
}

}  // namespace tessera::lint
