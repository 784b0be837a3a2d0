// driver/health_files.h: what people and other programs tell health through files: the policy and verdicts.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/trouble.h"
#include "health/policy.h"
#include "health/verdict.h"

namespace tessera::driver {

// Reads what has changed. Files that are wrong are told to people, and leave things as they were. Of one thread.
class HealthFiles {
 public:
  struct Options {
    std::filesystem::path policy;               // Empty: the defaults.
    std::filesystem::path verdicts;             // A directory. Empty: none.
    std::string ignored_xids;                   // --additional-xids-to-ignore
    std::optional<std::chrono::seconds> lease;  // Instead of the policy's.
  };
  HealthFiles(Options options, Trouble& trouble) : options_(std::move(options)), trouble_(trouble) {}

  // The policy, when it is another one than at the last call. The first call always has one. While the file is wrong
  // or missing, the last good one stays.
  std::optional<health::Policy> NewPolicy();
  // Those in force; the files that are wrong are left out.
  std::vector<health::Verdict> Verdicts();
  // Verdicts that name no device of this node.
  void SayUnmatched(const std::vector<std::string>& files);

  // How long a report is good for, under this policy.
  std::chrono::seconds Lease(const health::Policy& policy) const { return options_.lease.value_or(policy.lease()); }

 private:
  Result<health::Policy> ReadPolicy() const;

  // A file as it was when it was read: an edit changes its time or size, a ConfigMap's update the file itself.
  struct Stamp {
    std::uint64_t inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> StampOfPolicy() const;

  const Options options_;
  Trouble& trouble_;
  std::optional<health::Policy> policy_;  // The last good one; nothing before the first call.
  std::optional<Stamp> stamp_;            // Of the policy file that was read last.
  std::optional<Error> fault_;            // Of that file.
};

}  // namespace tessera::driver
