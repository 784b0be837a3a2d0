// base/error_codes.h: every code of the node plugin, its CDI hook and `tessera`: who acts, what it means, what to do.
//
// The code stays a literal where the failure is understood. tests/docs holds all those places to this table: a code
// without a row, a row without a place, or a kind that differs fails it. It also writes the rows into
// docs/troubleshooting.md, where each group has a heading.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

enum class CodeGroup : std::uint8_t { kClaims, kCdi, kJournal, kHealth, kServing, kApi, kDriver, kFlags, kHook, kTool };
inline constexpr std::size_t kCodeGroups = 10;

// Most codes have one kind. Where an errno decides, or a claim waits for what a person repairs, there are two.
struct ErrorKinds {
  std::uint8_t bits = 0;
  constexpr bool Has(ErrorKind kind) const { return (bits >> static_cast<unsigned>(kind) & 1U) != 0; }
  constexpr ErrorKinds operator|(ErrorKinds other) const { return {static_cast<std::uint8_t>(bits | other.bits)}; }
  constexpr bool operator==(const ErrorKinds&) const = default;
};
constexpr ErrorKinds Only(ErrorKind kind) { return {static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind))}; }

struct CodeInfo {
  std::string_view code;
  ErrorKinds kinds;
  CodeGroup group = CodeGroup::kClaims;
  std::string_view at;       // Where it shows up, in the letters of docs/troubleshooting.md.
  std::string_view meaning;  // As the page says it, in Markdown.
  std::string_view next;     // The next step. Plain text: errors that bring no advice of their own show it.
};

std::span<const CodeInfo> ErrorCodes();  // Group by group.
const CodeInfo* FindCode(std::string_view code);
// The group's heading in docs/troubleshooting.md.
std::string_view Heading(CodeGroup group);

// The error with the table's next step, where it has no advice.
Error WithNextStep(const Error& error);

// Whether the same claim would fail again in the same way until the claim, its device or the driver changes: what
// KEP-5322 calls permanent. A disk that is read-only or a certificate that is wrong needs a person too, but is no fault
// of the claim, and a pod that failed for it would be lost for nothing.
bool FailsForGood(const Error& error);

}  // namespace tessera
