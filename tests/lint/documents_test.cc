// The manifests that this repository shows to people are clean, and docs/lint.md shows what lint really says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "lint/lint.h"
#include "manifests/manifest.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const fs::path kRoot = TESSERA_SOURCE_DIR;

struct Block {
  std::string language, text;
};

// The fenced blocks of a page.
std::vector<Block> BlocksOf(const fs::path& page) {
  std::vector<Block> blocks;
  bool inside = false;
  const std::string text = ReadFile(page).value();
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({std::string(line.substr(3)), ""});
    } else if (inside) {
      blocks.back().text += Format("{}\n", line);
    }
  }
  return blocks;
}

// Everything but notes. What is not there is: another block, or the cluster, holds it.
std::vector<std::string> FaultsOf(std::string_view text, const std::string& file) {
  std::vector<std::string> faults;
  const auto objects = manifests::ParseManifests(text, file);
  if (!objects) return {objects.error().message()};
  for (const lint::Finding& finding : lint::Lint(*objects, {}).findings) {
    if (finding.severity == lint::Severity::kNote || finding.code == "NotInFiles") continue;
    if (finding.code == "VersionOff") continue;  // docs/compatibility.md has a claim for 1.32, which has no v1.
    faults.push_back(Format("{}:{}: {}", file, finding.origin.line, finding.message));
  }
  return faults;
}

TEST(Documents, ShowManifestsThatAreClean) {
  std::vector<fs::path> pages{kRoot / "README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) pages.push_back(entry.path());
  std::size_t manifests = 0;
  for (const fs::path& page : pages) {
    if (page.extension() != ".md" || page.filename() == "lint.md") continue;  // That one shows faults.
    for (const Block& block : BlocksOf(page)) {
      if (block.language != "yaml" || !block.text.contains("apiVersion: resource.k8s.io/")) continue;
      ++manifests;
      EXPECT_THAT(FaultsOf(block.text, page.filename().string()), IsEmpty());
    }
  }
  EXPECT_GE(manifests, 3U) << "docs/install.md alone has as many";
}

TEST(Documents, TheChartRendersManifestsThatAreClean) {
  for (const std::string name : {"defaults", "everything", "guide"}) {
    const std::string file = (kRoot / "tests/chart/golden" / (name + ".yaml")).string();
    EXPECT_THAT(FaultsOf(ReadFile(file).value(), name), IsEmpty());
  }
}

TEST(Documents, TheLintPageShowsWhatLintSays) {
  const auto blocks = BlocksOf(kRoot / "docs/lint.md");
  std::string manifest;
  std::size_t shown = 0;
  for (const Block& block : blocks) {
    if (block.language == "yaml") manifest = block.text;
    if (block.language != "text") continue;
    const auto objects = manifests::ParseManifests(manifest, "claim.yaml").value();
    EXPECT_EQ(lint::ToText(lint::Lint(objects, {})), block.text);
    ++shown;
  }
  EXPECT_EQ(shown, 1U);
}

}  // namespace
}  // namespace tessera::tests
