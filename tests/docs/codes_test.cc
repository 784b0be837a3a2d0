// What docs/ promise to list is listed: Event reasons, series, flags. And links lead somewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "tests/docs/source_text.h"
#include "tests/support/paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;

const fs::path kRoot = TESSERA_SOURCE_DIR;

std::string Read(const fs::path& relative) { return ReadFile(kRoot / relative).value(); }

// Those that `page` does not name in code font.
std::vector<std::string> Missing(const std::set<std::string>& names, std::string_view page) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!page.contains("`" + name + "`")) missing.push_back(name);
  }
  return missing;
}

// Error codes have a test of their own: error_codes_test.cc.
TEST(Docs, ExplainEveryEventAndWithheldDevice) {
  std::set<std::string> names;
  const std::string text = Sources("src/device") + Sources("src/driver");
  for (const std::string_view marker :
       {"EventType::kWarning,", "EventType::kNormal,", "because(", "product_name,", ".code ="}) {
    for (const std::string_view rest : After(text, marker)) {
      if (auto literal = Literal(rest); literal && IsCode(*literal)) names.insert(*std::move(literal));
    }
  }
  EXPECT_THAT(names, Contains("DeviceConflict")) << "the search itself must find something";
  EXPECT_THAT(names, Contains("GpuUnreadable"));
  EXPECT_THAT(Missing(names, Read("docs/troubleshooting.md")), IsEmpty());
}

TEST(Docs, ListEverySeries) {
  const std::string text = Sources("src/metrics") + Sources("src/driver");
  std::set<std::string> series;
  for (const std::string_view prefix : {"tessera_", "nvidia_dra_", "process_"}) {
    for (const std::string_view rest : After(text, Format("\"{}", prefix))) {
      const auto name = Cut(rest, "\"");
      if (name && !name->first.contains(' ')) series.insert(Format("{}{}", prefix, name->first));
    }
  }
  EXPECT_THAT(series, Contains("tessera_slices_published"));
  std::vector<std::string> missing;
  const std::string page = Read("docs/metrics.md");
  for (const std::string& name : series) {
    if (!page.contains("`" + name)) missing.push_back(name);  // "`tessera_build_info{version}`" too.
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Docs, ListEveryFlagVariableAndFeatureGate) {
  const std::string flags_source = Read("src/cmd/tessera-kubelet-plugin/flags.cc");
  const std::string gates_source = Read("src/cmd/tessera-kubelet-plugin/feature_gates.cc");
  std::set<std::string> names;
  for (const std::string_view rest : After(flags_source, "Add(app,")) {
    const auto flags = Literal(rest);
    if (!flags) continue;
    for (const std::string_view flag : Split(*flags, ',')) names.emplace(flag);
    const auto arguments = Cut(rest.substr(rest.find('"') + flags->size() + 2), ",");
    if (const auto variable = arguments ? Literal(arguments->second) : std::nullopt) names.insert(*variable);
  }
  for (const std::string_view rest : After(gates_source, "Gate{")) {
    if (const auto gate = Literal(rest)) names.insert(*gate);
  }
  EXPECT_THAT(names, Contains("--node-name"));
  EXPECT_THAT(names, Contains("POD_UID"));
  EXPECT_THAT(names, Contains("MPSSupport"));
  EXPECT_THAT(Missing(names, Read("docs/configuration.md")), IsEmpty());
}

// A heading's anchor, as GitHub makes it.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char c : Lower(Trim(heading))) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') anchor += c;
  }
  return anchor;
}

std::set<std::string> AnchorsOf(const fs::path& file) {
  std::set<std::string> anchors;
  const std::string text = ReadFile(file).value();
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with('#')) anchors.insert(Anchor(line.substr(std::min(line.find_first_not_of('#'), line.size()))));
  }
  return anchors;
}

// What is wrong with a link in `page`; empty when it is fine or leads out of the repository.
std::string FaultOf(const fs::path& page, std::string_view link) {
  if (link.contains("://") || link.contains(' ')) return {};
  const auto parts = Cut(link, "#");
  const std::string_view path = parts ? parts->first : link;
  const fs::path target = path.empty() ? page : page.parent_path() / path;
  if (!fs::exists(target)) return Format("{}: there is no {}", page.filename().string(), link);
  if (parts && !AnchorsOf(target).contains(std::string(parts->second))) {
    return Format("{}: no heading for {}", page.filename().string(), link);
  }
  return {};
}

TEST(Docs, LinksLeadSomewhere) {
  std::vector<fs::path> pages;
  for (const fs::path& folder : {kRoot, kRoot / "docs"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  std::vector<std::string> faults;
  for (const fs::path& page : pages) {
    const std::string text = ReadFile(page).value();
    for (const std::string_view rest : After(text, "](")) {
      const auto link = Cut(rest, ")");
      if (!link) continue;
      if (std::string fault = FaultOf(page, link->first); !fault.empty()) faults.push_back(std::move(fault));
    }
  }
  EXPECT_THAT(faults, IsEmpty());
}

}  // namespace
}  // namespace tessera
