#include "tests/support/golden.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

// The first line that differs, for a message a person can act on.
std::string FirstDifference(std::string_view actual, std::string_view expected) {
  const auto ours = Split(actual, '\n');
  const auto theirs = Split(expected, '\n');
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string_view a = i < ours.size() ? ours[i] : "(end)";
    const std::string_view b = i < theirs.size() ? theirs[i] : "(end)";
    if (a != b) return Format("line {}:\n  golden: {}\n  actual: {}", i + 1, b, a);
  }
  return "no line differs";
}

std::optional<std::string> Between(const std::string& page, std::string_view name, const std::string& table) {
  const auto begin = Cut(page, Format("<!-- {}: begin", name));
  const auto marker = begin ? Cut(begin->second, "-->\n") : std::nullopt;
  const std::string end = Format("<!-- {}: end -->", name);
  const auto rest = marker ? Cut(marker->second, end) : std::nullopt;
  if (!rest) return std::nullopt;
  return Format("{}<!-- {}: begin{}-->\n\n{}\n{}{}", begin->first, name, marker->first, table, end, rest->second);
}

}  // namespace

testing::AssertionResult MatchesGolden(std::string_view actual, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(TESSERA_SOURCE_DIR "/tests/testdata") / name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    const auto written = ReplaceFile(path, actual);
    if (!written.has_value()) return testing::AssertionFailure() << written.error().message();
    return testing::AssertionSuccess();
  }
  const auto expected = ReadFile(path);
  if (!expected.has_value()) return testing::AssertionFailure() << expected.error().message();
  if (*expected == actual) return testing::AssertionSuccess();
  return testing::AssertionFailure() << path << " differs at " << FirstDifference(actual, *expected)
                                     << "\nUPDATE_GOLDEN=1 rewrites it.";
}

testing::AssertionResult PageShows(const std::string& page, std::string_view name, const std::string& table) {
  const std::filesystem::path path = std::filesystem::path(TESSERA_SOURCE_DIR) / page;
  const auto text = ReadFile(path);
  if (!text.has_value()) return testing::AssertionFailure() << text.error().message();
  const auto wanted = Between(*text, name, table);
  if (!wanted) return testing::AssertionFailure() << page << " has no markers for " << name;
  if (*wanted == *text) return testing::AssertionSuccess();
  if (std::getenv("UPDATE_GOLDEN") == nullptr) {
    return testing::AssertionFailure() << page << " differs at " << FirstDifference(*wanted, *text)
                                       << "\nUPDATE_GOLDEN=1 rewrites it.";
  }
  const auto written = ReplaceFile(path, *wanted);
  if (!written.has_value()) return testing::AssertionFailure() << written.error().message();
  return testing::AssertionSuccess();
}

}  // namespace tessera::tests
