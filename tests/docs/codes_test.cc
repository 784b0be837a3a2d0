// What docs/ promise to list is listed: error codes and Event reasons, series, flags. And links lead somewhere.
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
#include "tests/support/paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;

const fs::path kRoot = TESSERA_SOURCE_DIR;

std::string Read(const fs::path& relative) { return ReadFile(kRoot / relative).value(); }

// All sources below a folder, tests left out.
std::string Sources(const fs::path& folder) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_source = name.ends_with(".cc") || name.ends_with(".h");
    if (is_source && !name.ends_with("_test.cc") && !name.starts_with("test_")) text += ReadFile(entry.path()).value();
  }
  return text;
}

// Where `marker` ends in `text`, each time.
std::vector<std::string_view> After(std::string_view text, std::string_view marker) {
  std::vector<std::string_view> rests;
  for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
    rests.push_back(text.substr(at + marker.size()));
  }
  return rests;
}

// The literal that `text` begins with, blanks aside.
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

// Codes as the sources write them: the first literal of these calls, or what follows a kind or a type.
std::set<std::string> CodesIn(std::string_view text) {
  std::set<std::string> codes;
  const auto take = [&](std::string_view rest) {
    if (auto literal = Literal(rest); literal && IsCode(*literal)) codes.insert(*std::move(literal));
  };
  for (const std::string_view marker :
       {"BadConfig(", "Transient(", "BadDevice(", "kTransient,", "kPermanentConfig,", "kPermanentDevice,",
        "EventType::kWarning,", "EventType::kNormal,", "because(", "product_name,", ".code ="}) {
    for (const std::string_view rest : After(text, marker)) take(rest);
  }
  for (const std::string_view rest : After(text, "FromErrno(")) {
    if (const auto arguments = Cut(rest.substr(0, 200), ",")) take(arguments->second);
  }
  return codes;
}

// Those that `page` does not name in code font.
std::vector<std::string> Missing(const std::set<std::string>& names, std::string_view page) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!page.contains("`" + name + "`")) missing.push_back(name);
  }
  return missing;
}

TEST(Docs, ExplainEveryCodeAndEvent) {
  std::set<std::string> codes;
  for (const std::string_view folder :
       {"api", "base", "cdi", "cel", "device", "driver", "health", "journal", "json", "kube", "kubelet", "net", "nvml",
        "cmd/tessera-kubelet-plugin", "cmd/tessera-cdi-hook"}) {
    codes.merge(CodesIn(Sources(fs::path("src") / folder)));
  }
  EXPECT_THAT(codes, Contains("DeviceInUse")) << "the search itself must find something";
  EXPECT_THAT(codes, Contains("JournalDamaged"));
  EXPECT_THAT(codes, Contains("CdiWriteFailed"));
  EXPECT_THAT(Missing(codes, Read("docs/troubleshooting.md")), IsEmpty());
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
