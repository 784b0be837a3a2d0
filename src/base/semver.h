// base/semver.h: semantic versions (semver.org 2.0.0), read as strictly or as loosely as Kubernetes reads them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

struct Semver {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::string pre_release;  // "rc.1"; empty for a release.
  std::string build;        // "20260801.deadbeef"; may be empty.

  // Exactly major.minor.patch[-pre][+build], the way CEL's semver() and `version` attributes are read (blang/semver
  // v4): no leading "v", no leading zeros, numbers that fit uint64. The messages are worded as that library's and name
  // what was found.
  static Result<Semver> Parse(std::string_view text);

  // What CEL's semver(text, true) takes as well: one leading "v", leading zeros, and "1" or "1.2" for 1.0.0 and 1.2.0,
  // unless a pre-release or build follows these. Spaces are not trimmed.
  static Result<Semver> ParseTolerant(std::string_view text);

  // A driver's or CUDA's version: "570.158.01" is 570.158.1, "13.0" is 13.0.0, "v580-rc1" is 580.0.0-rc1. Nothing when
  // the text is no version, such as one with four numbers. The Go driver makes its version attributes with NewVersion
  // of Masterminds/semver v3; this gives the same, and only what Parse() takes back.
  static std::optional<Semver> Coerce(std::string_view text);

  // Precedence: a pre-release comes before its release. The build does not count, not even for equality: CEL and
  // Kubernetes compare so.
  std::weak_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const { return (*this <=> other) == 0; }

  std::string ToString() const;  // "1.2.3-rc.1+build.5"
};

}  // namespace tessera
