// Versions: each way of reading takes what the stricter takes, prints what it read, and orders it.
#include "base/semver.h"
#include "base/text.h"
#include "tests/fuzz/target.h"

namespace tessera {
namespace {

void CheckPrinted(const Semver& version) {
  const auto again = Semver::Parse(version.ToString());
  Require(again.has_value(), "what we print is a version");
  Require(again->ToString() == version.ToString(), "and the same");
  Require(*again == version, "and equal");
}

}  // namespace

void Fuzz(std::string_view input) {
  const auto parts = Cut(input, "\n");
  const std::string_view text = parts ? parts->first : input;
  const auto strict = Semver::Parse(text);
  const auto tolerant = Semver::ParseTolerant(text);
  if (const auto coerced = Semver::Coerce(text)) CheckPrinted(*coerced);
  if (tolerant) CheckPrinted(*tolerant);
  if (!strict) return;
  Require(strict->ToString() == text, "a strict version prints as it was written");
  Require(tolerant.has_value() && *tolerant == *strict, "the tolerant reading takes it too");
  const auto other = Semver::Parse(parts ? parts->second : text);
  if (other) Require((*strict <=> *other) == (0 <=> (*other <=> *strict)), "order is the same from both sides");
}

}  // namespace tessera
