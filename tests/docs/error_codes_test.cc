// The table of error codes says what the sources do, and docs/troubleshooting.md shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "base/error_codes.h"
#include "base/text.h"
#include "tests/docs/source_text.h"
#include "tests/support/golden.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;

constexpr ErrorKinds kTransient = Only(ErrorKind::kTransient), kConfig = Only(ErrorKind::kPermanentConfig),
                     kDevice = Only(ErrorKind::kPermanentDevice);

// Everything that is linked into the plugin, the hook or `tessera`.
std::string AllSources() {
  std::string text;
  for (const std::string_view folder : {"alloc",
                                        "api",
                                        "base",
                                        "cdi",
                                        "cel",
                                        "device",
                                        "driver",
                                        "health",
                                        "inspect",
                                        "journal",
                                        "json",
                                        "kube",
                                        "kubelet",
                                        "local",
                                        "manifests",
                                        "net",
                                        "nvml",
                                        "cmd/tessera",
                                        "cmd/tessera-kubelet-plugin",
                                        "cmd/tessera-cdi-hook"}) {
    text += Sources(std::filesystem::path("src") / folder);
  }
  return text;
}

struct Marker {
  std::string_view text;
  ErrorKinds kinds;
};
constexpr std::array kMarkers{Marker{"Transient(", kTransient}, Marker{"kTransient,", kTransient},
                              Marker{"BadConfig(", kConfig},    Marker{"kPermanentConfig,", kConfig},
                              Marker{"BadDevice(", kDevice},    Marker{"kPermanentDevice,", kDevice}};

using Found = std::map<std::string, ErrorKinds>;

// Codes and the kinds that they are given, as the sources write them: the literal behind a marker, or the second
// argument of FromErrno().
Found CodesIn(std::string_view text) {
  Found found;
  const auto take = [&](std::string_view rest, ErrorKinds kinds) {
    const auto literal = Literal(rest);
    if (literal && IsCode(*literal)) found[*literal] = found[*literal] | kinds;
  };
  for (const Marker& marker : kMarkers) {
    for (const std::string_view rest : After(text, marker.text)) take(rest, marker.kinds);
  }
  for (const std::string_view rest : After(text, "FromErrno(")) {
    if (const auto arguments = Cut(rest.substr(0, 200), ",")) take(arguments->second, kTransient | kConfig);
  }
  return found;
}

// Codes that are chosen by name and not by a literal beside their kind.
const Found kNamed{{"ApiConflict", kTransient}, {"ApiExists", kTransient}, {"LeaseFileUnusable", kTransient | kConfig}};

// Hardware hands the driver's errors to a claim as transient: it waits until somebody repaired the driver.
ErrorKinds AsGiven(const CodeInfo& info, ErrorKinds kinds) {
  return info.group == CodeGroup::kDriver ? kinds | kTransient : kinds;
}

std::vector<std::string> Differences(const Found& found) {
  std::vector<std::string> differences;
  for (const auto& [code, kinds] : found) {
    const CodeInfo* info = FindCode(code);
    if (info == nullptr) {
      differences.push_back(Format("{} has no row in base/error_codes.cc", code));
    } else if (AsGiven(*info, kinds) != info->kinds) {
      differences.push_back(Format("{} has another kind in base/error_codes.cc than where it is given", code));
    }
  }
  for (const CodeInfo& info : ErrorCodes()) {
    if (!found.contains(std::string(info.code))) differences.push_back(Format("nobody gives {}", info.code));
  }
  return differences;
}

TEST(ErrorCodes, AreThoseOfTheSourcesWithTheirKinds) {
  const std::string text = AllSources();
  Found found = CodesIn(text);
  for (const auto& [code, kinds] : kNamed) {
    ASSERT_TRUE(text.contains(Format("\"{}\"", code))) << code;
    found.emplace(code, kinds);
  }
  EXPECT_THAT(Differences(found), IsEmpty());
}

TEST(ErrorCodes, ARowOrAKindThatIsMissingIsNoticed) {
  Found found = CodesIn("return Transient(\n    \"NoSuchCode\", x); Error(ErrorKind::kTransient, \"DeviceLost\", y)");
  EXPECT_THAT(Differences(found),
              testing::IsSupersetOf({"NoSuchCode has no row in base/error_codes.cc",
                                     "DeviceLost has another kind in base/error_codes.cc than where it is given",
                                     "nobody gives DiskFull"}));
}

std::string KindText(ErrorKinds kinds) {
  std::vector<std::string> names;
  if (kinds.Has(ErrorKind::kTransient)) names.emplace_back("transient");
  if (kinds.Has(ErrorKind::kPermanentConfig)) names.emplace_back("config");
  if (kinds.Has(ErrorKind::kPermanentDevice)) names.emplace_back("device");
  return Join(names, " or ");
}

std::string Table() {
  std::string text;
  std::string_view heading;
  for (const CodeInfo& info : ErrorCodes()) {
    if (heading != Heading(info.group)) {
      text += Format("{}### {}\n\n| Code | Kind | At | Means | Do |\n|---|---|---|---|---|\n",
                     heading.empty() ? "" : "\n", Heading(info.group));
      heading = Heading(info.group);
    }
    text += Format("| `{}` | {} | {} | {} | {} |\n", info.code, KindText(info.kinds), info.at, info.meaning, info.next);
  }
  return text;
}

TEST(ErrorCodes, AreInTheDocumentation) { EXPECT_TRUE(tests::PageShows("docs/troubleshooting.md", "codes", Table())); }

}  // namespace
}  // namespace tessera
