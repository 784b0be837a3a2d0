#include "tests/explain/situations.h"

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera::tests {

namespace fs = std::filesystem;

std::string SituationFile(const std::string& name) {
  return fs::path(TESSERA_SOURCE_DIR) / "tests/testdata/explain" / name;
}

std::vector<std::string> Situations() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SituationFile(""))) {
    if (entry.path().extension() == ".yaml" && entry.path().stem() != "nodes") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> CommandOf(const std::string& name, const std::string& own_file) {
  const std::string file = name + ".yaml";
  const std::string text = ReadFile(SituationFile(file)).value();
  std::vector<std::string> words;
  for (const std::string_view word : Split(std::string_view(text).substr(0, text.find('\n')), ' ')) {
    const bool own = word == file && !own_file.empty();
    words.push_back(own ? own_file : word.ends_with(".yaml") ? SituationFile(std::string(word)) : std::string(word));
  }
  words.erase(words.begin(), words.begin() + 2);  // "# tessera"
  return words;
}

}  // namespace tessera::tests
