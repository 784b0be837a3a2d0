// journal/line.h: one line of the journal, read and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"
#include "journal/journal.h"

namespace tessera::journal {

// A claim with everything it was given takes a few kilobytes.
inline constexpr std::size_t kMaxLine = std::size_t{1} << 20;

enum class Op : std::uint8_t {
  kStart,
  kComplete,
  kForget,
  kForeign,  // Of a newer version: kept as it is.
};

struct Line {
  Op op = Op::kForeign;
  std::uint32_t crc = 0;
  api::ClaimRef claim;  // A foreign line may have none.
  ClaimPtr start;       // Of kStart.
  json::Object extras;  // Fields of kStart that we do not know, at its top level.
};

// `text` is without its newline. Nothing when it is damaged: the checksum is wrong, or what it covers is no record.
std::optional<Line> ParseLine(std::string_view text);

// A line ready to be written, with its newline, and what it says.
struct Sealed {
  std::string text;
  Line line;
};
// `extras` are fields of newer versions to carry over. Refuses what ParseLine() would not take back: text that is not
// UTF-8, a UID that is none, a line that is too long.
Result<Sealed> StartLine(const api::PreparedClaim& claim, const json::Object& extras = {});
Sealed CompleteLine(const api::ClaimRef& claim);
Sealed ForgetLine(const api::ClaimRef& claim);

// Cuts a damaged line where records begin, because the newline between two of them may be what was lost.
struct Piece {
  std::optional<Line> line;  // When it is whole.
  std::size_t offset = 0, length = 0;
};
std::vector<Piece> Salvage(std::string_view text);

// The claim that a damaged line seems to speak of.
std::optional<api::ClaimRef> SuspectOf(std::string_view text);

}  // namespace tessera::journal
