#include "local/cdi_support.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "json/value.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;

using Release = std::pair<int, int>;  // Major and minor.

constexpr Release kFirstNerdctl{2, 1}, kFirstCtr{2, 0};
constexpr const char* kDockerNeeds =
    "use Docker 28.2 or newer, or 25 with \"features\": {\"cdi\": true} in daemon.json; or --runtime podman";

// Of "nerdctl version 2.1.2" and "ctr github.com/containerd/containerd 1.6.20~ds1".
std::optional<Release> ReleaseIn(std::string_view answer) {
  const std::string_view line = Trim(answer.substr(0, answer.find('\n')));
  std::string_view word = line.substr(line.rfind(' ') + 1);
  if (word.starts_with('v')) word.remove_prefix(1);
  const auto numbers = Split(word, '.');
  if (numbers.size() < 2) return std::nullopt;
  const auto digits = [](std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789")); };
  const auto major = ParseNumber<int>(digits(numbers[0])), minor = ParseNumber<int>(digits(numbers[1]));
  if (!major || !minor) return std::nullopt;
  return Release{*major, *minor};
}

Result<void> JudgeRelease(Runtime runtime, std::string_view answer, Release first) {
  const auto release = ReleaseIn(answer);
  if (!release || *release >= first) return {};
  return BadConfig(
      "RuntimeWithoutCdi",
      Format("{} {}.{} does not know CDI devices", ToText(runtime), release->first, release->second),
      Format("install {} {}.{} or newer, or use --runtime podman", ToText(runtime), first.first, first.second));
}

// The directories in which docker's daemon looks; "null" or "[]" from one that is too old, or has CDI turned off.
Result<void> JudgeDirectories(std::string_view answer, const fs::path& cdi) {
  const auto listed = json::ParseJson(answer);
  if (!listed || !listed->is_array() || listed->as_array().empty()) {
    return BadConfig("RuntimeWithoutCdi", "docker's daemon does not know CDI devices", kDockerNeeds);
  }
  std::vector<std::string> directories;
  for (const json::Value& each : listed->as_array()) {
    if (each.is_string()) directories.emplace_back(each.as_string());
  }
  const auto is_ours = [&](const std::string& directory) {
    std::error_code ignored;
    return fs::weakly_canonical(directory, ignored) == fs::weakly_canonical(cdi, ignored);
  };
  if (std::ranges::any_of(directories, is_ours)) return {};
  return BadConfig("SpecsNotPublic",
                   Format("docker looks for CDI files in {}, not in {}", Join(directories, ", "), cdi.string()),
                   "name one of them with --cdi-dir, or add ours to \"cdi-spec-dirs\" in daemon.json");
}

}  // namespace

std::vector<std::string> CdiQuestion(Runtime runtime) {
  switch (runtime) {
    case Runtime::kDocker:
      return {"docker", "info", "--format", "{{json .CDISpecDirs}}"};
    case Runtime::kNerdctl:
    case Runtime::kCtr:
      return {std::string(ToText(runtime)), "--version"};
    case Runtime::kNone:
    case Runtime::kCrun:
    case Runtime::kRunc:
    case Runtime::kPodman:  // Since 4.1 (2022).
      return {};
  }
  return {};
}

Result<void> JudgeCdi(Runtime runtime, const Answer& answer, const fs::path& cdi) {
  if (answer.code != 0) {
    const std::string_view words = Trim(answer.err);
    return Transient("RuntimeSilent",
                     Format("{} does not answer: {}", ToText(runtime),
                            words.empty() ? Format("exit code {}", answer.code) : std::string(words)),
                     runtime == Runtime::kDocker ? Format("is its daemon running? Otherwise {}", kDockerNeeds)
                                                 : Format("try {} by hand", Join(CdiQuestion(runtime), " ")));
  }
  switch (runtime) {
    case Runtime::kDocker:
      return JudgeDirectories(answer.out, cdi);
    case Runtime::kNerdctl:
      return JudgeRelease(runtime, answer.out, kFirstNerdctl);
    case Runtime::kCtr:
      return JudgeRelease(runtime, answer.out, kFirstCtr);
    default:
      return {};
  }
}

}  // namespace tessera::local
