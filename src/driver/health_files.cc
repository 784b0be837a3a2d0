#include "driver/health_files.h"

#include <sys/stat.h>

#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::driver {
namespace {

constexpr std::size_t kMostNamed = 8;  // Faulty files in one message.

// All in one sentence, because Trouble says each code once a minute.
Error Together(const std::vector<Error>& problems) {
  std::vector<std::string> texts;
  for (const Error& problem : problems) {
    if (texts.size() < kMostNamed) texts.push_back(problem.message());
  }
  if (problems.size() > kMostNamed) texts.push_back(Format("and {} more", problems.size() - kMostNamed));
  const Error& first = problems.front();
  return {first.kind(), first.code(), Join(texts, "; "), first.advice()};
}

}  // namespace

std::optional<health::Policy> HealthFiles::NewPolicy() {
  const std::optional<Stamp> stamp = StampOfPolicy();
  const bool first = !policy_;
  std::optional<health::Policy> changed;
  if (first || stamp != stamp_) {
    stamp_ = stamp;
    auto read = ReadPolicy();
    fault_ = read ? std::nullopt : std::optional(read.error());
    health::Policy policy = read ? *std::move(read) : policy_.value_or(health::Policy());
    for (const std::string& word : policy.IgnoreXids(options_.ignored_xids)) {
      if (first) log::Warning("--additional-xids-to-ignore names something that is no Xid", {{"word", word}});
    }
    if (first || policy != *policy_) changed = policy_ = std::move(policy);
    if (!first && changed) log::Info("The health policy has changed", {{"file", options_.policy.string()}});
  }
  if (fault_) trouble_.Say(*fault_);
  return changed;
}

Result<health::Policy> HealthFiles::ReadPolicy() const {
  if (options_.policy.empty()) return health::Policy();
  const auto text = ReadFile(options_.policy, health::kMaxPolicySize);
  auto policy = text ? health::Policy::Parse(*text) : std::unexpected(text.error());
  if (policy) return policy;
  return std::unexpected(std::move(policy).error().Wrap(Format("health policy {}", options_.policy.string())));
}

std::optional<HealthFiles::Stamp> HealthFiles::StampOfPolicy() const {
  struct stat status{};
  if (options_.policy.empty() || ::stat(options_.policy.c_str(), &status) != 0) return std::nullopt;
  return Stamp{status.st_ino, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
               status.st_mtim.tv_nsec};
}

std::vector<health::Verdict> HealthFiles::Verdicts() {
  if (options_.verdicts.empty()) return {};
  health::Verdicts read = health::ReadVerdicts(options_.verdicts);
  if (!read.problems.empty()) trouble_.Say(Together(read.problems));
  return std::move(read.verdicts);
}

void HealthFiles::SayUnmatched(const std::vector<std::string>& files) {
  if (files.empty()) return;
  std::vector<Error> problems;
  for (const std::string& file : files) {
    problems.emplace_back(ErrorKind::kPermanentConfig, "VerdictUnmatched",
                          Format("verdict {} names no device of this node", (options_.verdicts / file).string()),
                          "name a GPU by UUID, index or PCI address: tessera devices lists them");
  }
  trouble_.Say(Together(problems));
}

}  // namespace tessera::driver
