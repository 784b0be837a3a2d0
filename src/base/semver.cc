#include "base/semver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <vector>

#include "base/text.h"

namespace tessera {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsIdentifierChar(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }
bool IsNumeric(std::string_view text) { return std::ranges::all_of(text, IsDigit); }
bool IsIdentifier(std::string_view text) { return std::ranges::all_of(text, IsIdentifierChar); }
bool HasLeadingZero(std::string_view text) { return text.size() > 1 && text.front() == '0'; }

std::unexpected<Error> BadVersion(std::string message) {
  return BadConfig("BadVersion", std::move(message), "write major.minor.patch, such as 570.158.1");
}

// `name` is capitalised: "Major".
Result<std::uint64_t> ReadNumber(std::string_view name, std::string_view text) {
  if (!IsNumeric(text)) {
    return BadVersion(Format("Invalid character(s) found in {} number {}", Lower(name), Quote(text)));
  }
  if (HasLeadingZero(text)) {
    return BadVersion(Format("{} number must not contain leading zeroes {}", name, Quote(text)));
  }
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number) return BadVersion(Format("{} number {} is {}", name, Quote(text), text.empty() ? "empty" : "too large"));
  return *number;
}

Result<void> CheckPreRelease(std::string_view text) {
  for (const std::string_view part : Split(text, '.')) {
    if (part.empty()) return BadVersion(Format("Prerelease is empty: {}", Quote(text)));
    if (!IsIdentifier(part)) return BadVersion(Format("Invalid character(s) found in prerelease {}", Quote(part)));
    if (!IsNumeric(part)) continue;
    if (HasLeadingZero(part)) {
      return BadVersion(Format("Numeric PreRelease version must not contain leading zeroes {}", Quote(part)));
    }
    if (!ParseNumber<std::uint64_t>(part)) {
      return BadVersion(Format("Numeric PreRelease version {} is too large", Quote(part)));
    }
  }
  return {};
}

Result<void> CheckBuild(std::string_view text) {
  for (const std::string_view part : Split(text, '.')) {
    if (part.empty()) return BadVersion(Format("Build meta data is empty: {}", Quote(text)));
    if (!IsIdentifier(part)) return BadVersion(Format("Invalid character(s) found in build meta data {}", Quote(part)));
  }
  return {};
}

// "3-rc.1+b5" gives 3, "rc.1" and "b5". A part that is announced may be empty, one that is not is absent.
struct Tail {
  std::string_view number;
  std::optional<std::string_view> pre_release;
  std::optional<std::string_view> build;
};

Tail CutTail(std::string_view text) {
  Tail tail{.number = text, .pre_release = {}, .build = {}};
  if (const auto cut = Cut(tail.number, "+")) std::tie(tail.number, tail.build) = *cut;
  if (const auto cut = Cut(tail.number, "-")) std::tie(tail.number, tail.pre_release) = *cut;
  return tail;
}

// At most three parts: the third keeps its dots, because pre-release and build may have some.
std::vector<std::string_view> SplitVersion(std::string_view text) {
  std::vector<std::string_view> parts;
  for (auto cut = Cut(text, "."); cut && parts.size() < 2; cut = Cut(text, ".")) {
    parts.push_back(cut->first);
    text = cut->second;
  }
  parts.push_back(text);
  return parts;
}

// What nearly every version is: three numbers and nothing else. Nothing for all others, whether they are versions or not.
std::optional<Semver> ParsePlain(std::string_view text) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t& number : numbers) {
    const bool first = &number == numbers.data();
    if (!first && (at == end || *at++ != '.')) return std::nullopt;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || HasLeadingZero({at, stop})) return std::nullopt;
    at = stop;
  }
  if (at != end) return std::nullopt;
  return Semver{.major = numbers[0], .minor = numbers[1], .patch = numbers[2], .pre_release = {}, .build = {}};
}

// "007" gives "7", "00" gives "0", "0-rc" and "-rc" give "0-rc".
std::string WithoutLeadingZeros(std::string_view part) {
  if (part.size() <= 1) return std::string(part);
  part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
  const bool starts_with_digit = !part.empty() && IsDigit(part.front());
  return (starts_with_digit ? "" : "0") + std::string(part);
}

std::weak_ordering ComparePreReleasePart(std::string_view a, std::string_view b) {
  if (IsNumeric(a) != IsNumeric(b)) return IsNumeric(b) <=> IsNumeric(a);  // Numbers come first.
  // Numbers have no leading zeros, so the longer one is larger.
  if (IsNumeric(a) && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

std::weak_ordering ComparePreRelease(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();  // A release is later than any of its pre-releases.
  const auto left = Split(a, '.');
  const auto right = Split(b, '.');
  return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end(),
                                                ComparePreReleasePart);
}

}  // namespace

Result<Semver> Semver::Parse(std::string_view text) {
  if (auto plain = ParsePlain(text)) return *std::move(plain);
  if (text.empty()) return BadVersion("Version string empty");
  const auto parts = SplitVersion(text);
  if (parts.size() != 3) return BadVersion(Format("No Major.Minor.Patch elements found: {}", Quote(text)));

  Semver version;
  const Tail tail = CutTail(parts[2]);
  TESSERA_ASSIGN(version.major, ReadNumber("Major", parts[0]));
  TESSERA_ASSIGN(version.minor, ReadNumber("Minor", parts[1]));
  TESSERA_ASSIGN(version.patch, ReadNumber("Patch", tail.number));
  if (tail.pre_release) TESSERA_TRY(CheckPreRelease(*tail.pre_release));
  if (tail.build) TESSERA_TRY(CheckBuild(*tail.build));
  version.pre_release = tail.pre_release.value_or("");
  version.build = tail.build.value_or("");
  return version;
}

Result<Semver> Semver::ParseTolerant(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (const std::string_view part : SplitVersion(text)) parts.push_back(WithoutLeadingZeros(part));
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string::npos) {
    return BadVersion(Format("short version cannot contain PreRelease/Build meta data: {}", Quote(text)));
  }
  parts.resize(3, "0");
  return Parse(Join(parts, "."));
}

std::optional<Semver> Semver::Coerce(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const Tail tail = CutTail(text);
  if (tail.pre_release && !CheckPreRelease(*tail.pre_release)) return std::nullopt;
  if (tail.build && !CheckBuild(*tail.build)) return std::nullopt;

  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : Split(tail.number, '.')) {
    const auto number = ParseNumber<std::uint64_t>(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() > 3) return std::nullopt;
  numbers.resize(3);
  return Semver{.major = numbers[0],
                .minor = numbers[1],
                .patch = numbers[2],
                .pre_release = std::string(tail.pre_release.value_or("")),
                .build = std::string(tail.build.value_or(""))};
}

std::weak_ordering Semver::operator<=>(const Semver& other) const {
  const auto numbers = std::tie(major, minor, patch) <=> std::tie(other.major, other.minor, other.patch);
  return numbers != 0 ? numbers : ComparePreRelease(pre_release, other.pre_release);
}

std::string Semver::ToString() const {
  return Format("{}.{}.{}{}{}{}{}", major, minor, patch, pre_release.empty() ? "" : "-", pre_release,
                build.empty() ? "" : "+", build);
}

}  // namespace tessera
