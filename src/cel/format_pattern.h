// cel/format_pattern.h: what stands between the quotes in "%s has %d".format([...]), for the check before and the work at
// run time.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace tessera::cel {

struct FormatClause {
  char verb = 's';  // One of s d f e b o x X.
  std::optional<int> precision;
};

// Reads a pattern from left to right:
//
//   while (reader.NextClause(plain)) { … reader.TakeClause() … }
class FormatReader {
 public:
  explicit FormatReader(std::string_view pattern) : rest_(pattern) {}

  // Appends what stands before the next clause to `plain`. False when there is no other clause.
  bool NextClause(std::string& plain);

  bool AtEnd() const { return rest_.empty(); }  // Nothing follows the percent sign.

  // The clause, or what is wrong with it, in cel-go's words.
  std::expected<FormatClause, std::string> TakeClause();

 private:
  std::string_view rest_;
};

// Whether the verb takes such values. %f and %e take strings as well, of which only "NaN", "Infinity" and "-Infinity" can
// be printed.
bool Takes(char verb, Kind kind);

// "error during formatting: decimal clause can only be used on integers, was given string"
std::string FormatRefusal(char verb, std::string_view type);

}  // namespace tessera::cel
