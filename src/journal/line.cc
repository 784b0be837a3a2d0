#include "journal/line.h"

#include <algorithm>
#include <array>
#include <boost/json/monotonic_resource.hpp>

#include "base/text.h"
#include "journal/crc32c.h"
#include "json/decode.h"

namespace tessera::journal {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kOpening = R"({"crc":")";
constexpr std::size_t kDigits = 8;
constexpr std::string_view kClosing = R"(",)";
constexpr std::size_t kPrefix = kOpening.size() + kDigits + kClosing.size();

constexpr std::array<std::string_view, 12> kKnown = {"crc",  "v",       "op",         "claim",  "state",   "bootID",
                                                     "pods", "devices", "allocation", "origin", "adopted", "run"};

// The checksum a line claims to have, when it begins as a line does.
std::optional<std::uint32_t> ClaimedCrc(std::string_view text) {
  if (text.size() < kPrefix || !text.starts_with(kOpening)) return std::nullopt;
  if (text.substr(kOpening.size() + kDigits, kClosing.size()) != kClosing) return std::nullopt;
  const std::string_view digits = text.substr(kOpening.size(), kDigits);
  if (std::ranges::any_of(digits, [](char c) { return c >= 'A' && c <= 'F'; })) return std::nullopt;
  return ParseNumber<std::uint32_t>(digits, 16);
}

Op OpOf(const json::Object& object) {
  const json::Value* op = object.if_contains("op");
  if (op == nullptr || !op->is_string()) return Op::kForeign;
  const std::string_view text = op->get_string();
  if (text == "start") return Op::kStart;
  if (text == "complete") return Op::kComplete;
  if (text == "forget") return Op::kForget;
  return Op::kForeign;
}

std::optional<api::ClaimRef> ClaimOf(const json::Object& object) {
  const json::Value* value = object.if_contains("claim");
  if (value == nullptr) return std::nullopt;
  auto claim = json::Decode<api::ClaimRef>(*value, json::Unknown::kIgnore);
  if (!claim.has_value() || !api::IsClaimUid(claim->uid)) return std::nullopt;
  return std::move(*claim);
}

json::Object ExtrasOf(const json::Object& object) {
  json::Object extras;
  for (const auto& field : object) {
    if (std::ranges::find(kKnown, std::string_view(field.key())) == kKnown.end()) {
      extras.emplace(field.key(), field.value());
    }
  }
  return extras;
}

std::string Seal(const json::Value& body) {
  const std::string text = json::PrintJson(body);
  const std::string_view covered = std::string_view(text).substr(1);  // The prefix brings the opening brace.
  return Format("{}{:08x}{}{}\n", kOpening, Crc32c(covered), kClosing, covered);
}

json::Object Body(std::string_view op, const json::Storage& storage = {}) {
  return json::Object({{"v", kVersion}, {"op", op}}, storage);
}

Sealed ClaimLine(Op op, std::string_view name, const api::ClaimRef& claim) {
  json::Object body = Body(name);
  body.emplace("claim", json::Encode(claim));
  Sealed sealed{Seal(std::move(body)), {}};
  sealed.line.op = op;
  sealed.line.claim = claim;
  return sealed;
}

// Whether ParseLine() would take it. Plain ASCII is always UTF-8, so that most lines need not be read to know.
bool ReadsBack(std::string_view line, const api::PreparedClaim& claim) {
  const bool is_ascii = std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!is_ascii) return ParseLine(line).has_value();
  return line.size() <= kMaxLine && api::IsClaimUid(claim.claim.uid);
}

// The text of the first `"key":"…"`, when it needs no unescaping.
std::string TextField(std::string_view text, std::string_view key) {
  const auto found = Cut(text, Format(R"("{}":")", key));
  if (!found) return {};
  const std::string_view value = found->second.substr(0, found->second.find('"'));
  const bool plain = std::ranges::all_of(value, [](char c) { return c > ' ' && c != '\\' && c < 0x7F; });
  return plain && value.size() <= 253 ? std::string(value) : std::string();
}

}  // namespace

std::optional<Line> ParseLine(std::string_view text) {
  if (text.size() > kMaxLine) return std::nullopt;
  const auto crc = ClaimedCrc(text);
  if (!crc || *crc != Crc32c(text.substr(kPrefix))) return std::nullopt;
  const auto value = json::ParseJson(text);
  if (!value.has_value() || !value->is_object()) return std::nullopt;
  const json::Object& object = value->get_object();
  const json::Value* version = object.if_contains("v");
  if (version == nullptr || !version->is_int64() || version->get_int64() < kVersion) return std::nullopt;

  Line line{.op = version->get_int64() > kVersion ? Op::kForeign : OpOf(object),
            .crc = *crc,
            .claim = {},
            .start = {},
            .extras = {}};
  if (auto claim = ClaimOf(object)) {
    line.claim = std::move(*claim);
  } else if (line.op != Op::kForeign) {
    return std::nullopt;
  }
  if (line.op == Op::kStart) {
    auto start = json::Decode<api::PreparedClaim>(*value, json::Unknown::kIgnore);
    if (!start.has_value()) return std::nullopt;
    line.start = std::make_shared<const api::PreparedClaim>(std::move(*start));
    line.extras = ExtrasOf(object);
  }
  return line;
}

Result<Sealed> StartLine(const api::PreparedClaim& claim, const json::Object& extras) {
  boost::json::monotonic_resource memory;  // A claim is many small values, all gone at once.
  json::Object body = Body("start", &memory);
  json::Value fields = json::Encode(claim, &memory);
  for (auto& field : fields.get_object()) {
    if (!field.value().is_null()) body.emplace(field.key(), std::move(field.value()));
  }
  for (const auto& field : extras) body.emplace(field.key(), field.value());
  std::string text = Seal(std::move(body));
  const std::string_view line = std::string_view(text).substr(0, text.size() - 1);
  if (!ReadsBack(line, claim)) {
    return BadConfig("ClaimUnwritable",
                     Format("the record of claim {} with UID {} cannot be written: {} bytes, limit {}; names must be "
                            "UTF-8, the UID letters, digits and dashes",
                            api::ToText(claim.claim), Quote(Clip(claim.claim.uid, 80)), text.size(), kMaxLine));
  }
  Line said{.op = Op::kStart,
            .crc = *ClaimedCrc(line),
            .claim = claim.claim,
            .start = std::make_shared<const api::PreparedClaim>(claim),
            .extras = extras};
  return Sealed{std::move(text), std::move(said)};
}

Sealed CompleteLine(const api::ClaimRef& claim) { return ClaimLine(Op::kComplete, "complete", claim); }

Sealed ForgetLine(const api::ClaimRef& claim) { return ClaimLine(Op::kForget, "forget", claim); }

std::vector<Piece> Salvage(std::string_view text) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find(kOpening, at + 1), text.size());
    Piece piece{ParseLine(text.substr(at, next - at)), at, next - at};
    if (!piece.line) {  // The newline became another byte.
      piece.line = ParseLine(text.substr(at, next - at - 1));
      if (piece.line) --piece.length;
    }
    pieces.push_back(std::move(piece));
    at = next;
  }
  return pieces;
}

std::optional<api::ClaimRef> SuspectOf(std::string_view text) {
  api::ClaimRef claim;
  if (const auto found = Cut(text, R"("claim":{)")) {
    const std::string_view fields = found->second.substr(0, found->second.find('}'));
    claim = {TextField(fields, "namespace"), TextField(fields, "name"), TextField(fields, "uid")};
  } else {
    claim.uid = TextField(text, "uid");  // The claim's is the first of a line.
  }
  if (!api::IsClaimUid(claim.uid)) return std::nullopt;
  return claim;
}

}  // namespace tessera::journal
