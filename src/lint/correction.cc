#include "lint/correction.h"

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "base/semver.h"
#include "base/text.h"
#include "cel/lexer.h"

namespace tessera::lint {
namespace {

using cel::Token;
using cel::TokenKind;

constexpr std::string_view kByDomain = "attributes and capacities are found by their domain, then by their name";
constexpr std::string_view kSemver = "versions are made by semver(); there is no version()";
constexpr std::string_view kThreeNumbers = "semver() takes three numbers";
constexpr std::string_view kNoOrder = "quantities and versions are ordered by compareTo(), not by < or >";

bool IsOrder(const Token& token) {
  return std::ranges::any_of(std::array{"<", "<=", ">", ">="}, [&](const char* sign) { return token.Is(sign); });
}

bool IsQuantity(const Token& token) {
  const auto text = cel::Unquote(token);
  return text && !text->empty() && Quantity::Parse(*text).has_value();
}

std::string Access(std::string_view domain, std::string_view id) { return Format("['{}'].{}", domain, id); }

class Corrector {
 public:
  Corrector(std::string_view expression, std::string_view driver, std::vector<Token> tokens)
      : expression_(expression), driver_(driver), tokens_(std::move(tokens)) {}

  std::optional<Correction> Run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (IsDeviceMap(i)) Lookup(i + 3, At(i + 2).IsWord("capacity"));
      if (IsVersionCall(i)) Version(i);
    }
    if (edits_.empty()) return std::nullopt;
    return Correction{Apply(), reasons_};
  }

 private:
  struct Edit {
    std::size_t begin, end;  // In the expression.
    std::string text;
  };

  const Token& At(std::size_t i) const { return tokens_[std::min(i, tokens_.size() - 1)]; }  // The last is the end.
  std::size_t EndOf(std::size_t i) const { return At(i).offset + At(i).text.size(); }

  bool IsDeviceMap(std::size_t i) const {
    const bool after_dot = i > 0 && At(i - 1).Is(".");
    return !after_dot && At(i).IsWord("device") && At(i + 1).Is(".") &&
           (At(i + 2).IsWord("attributes") || At(i + 2).IsWord("capacity"));
  }
  // `.name` that is no call, at i.
  bool IsSelection(std::size_t i) const {
    return At(i).Is(".") && At(i + 1).kind == TokenKind::kIdentifier && !At(i + 2).Is("(");
  }
  std::optional<std::string> KeyAt(std::size_t i) const {
    if (!At(i).Is("[") || At(i + 1).kind != TokenKind::kString || !At(i + 2).Is("]")) return std::nullopt;
    const auto key = cel::Unquote(At(i + 1));
    return key ? std::optional(*key) : std::nullopt;
  }

  void Put(std::size_t begin, std::size_t end, std::string text, std::string_view reason) {
    edits_.push_back({begin, end, std::move(text)});
    if (std::ranges::find(reasons_, reason) == reasons_.end()) reasons_.emplace_back(reason);
  }

  // What follows device.attributes or device.capacity, from token i on.
  void Lookup(std::size_t i, bool is_capacity) {
    if (const auto key = KeyAt(i)) {
      const bool goes_on = IsSelection(i + 3) || KeyAt(i + 3).has_value();
      const auto parts = Cut(*key, "/");
      if (parts && !goes_on) {
        Put(At(i).offset, EndOf(i + 2), Access(parts->first, parts->second), kByDomain);
      } else if (!key->contains('.') && !goes_on) {
        Put(At(i).offset, EndOf(i + 2), Access(driver_, *key), kByDomain);
      }
      return Order(i + 3 + (IsSelection(i + 3) ? 2 : KeyAt(i + 3) ? 3 : 0), is_capacity);
    }
    if (IsSelection(i) && !IsSelection(i + 2)) {
      Put(At(i).offset, EndOf(i + 1), Access(driver_, At(i + 1).text), kByDomain);
      Order(i + 2, is_capacity);
    }
  }

  // `>= quantity('40Gi')` from token i on becomes `.compareTo(quantity('40Gi')) >= 0`.
  void Order(std::size_t i, bool is_capacity) {
    if (!IsOrder(At(i))) return;
    const Token& right = At(i + 1);
    const bool call = (right.IsWord("quantity") || right.IsWord("semver") || right.IsWord("version")) &&
                      At(i + 2).Is("(") && At(i + 3).kind == TokenKind::kString && At(i + 4).Is(")");
    const bool plain = is_capacity && right.kind == TokenKind::kString && IsQuantity(right);
    if (!call && !plain) return;
    Put(EndOf(i - 1), right.offset, plain ? ".compareTo(quantity(" : ".compareTo(", kNoOrder);
    const std::size_t end = EndOf(call ? i + 4 : i + 1);
    Put(end, end, Format("{} {} 0", plain ? "))" : ")", At(i).text), kNoOrder);
  }

  bool IsVersionCall(std::size_t i) const {
    const bool after_dot = i > 0 && At(i - 1).Is(".");
    return !after_dot && (At(i).IsWord("version") || At(i).IsWord("semver")) && At(i + 1).Is("(");
  }

  void Version(std::size_t i) {
    if (At(i).IsWord("version")) Put(At(i).offset, EndOf(i), "semver", kSemver);
    if (At(i + 2).kind != TokenKind::kString || !At(i + 3).Is(")")) return;
    const auto text = cel::Unquote(At(i + 2));
    if (!text || Semver::Parse(*text)) return;
    if (const auto meant = Semver::ParseTolerant(*text)) {
      Put(At(i + 2).offset, EndOf(i + 2), Format("'{}'", meant->ToString()), kThreeNumbers);
    }
  }

  std::string Apply() {
    std::ranges::stable_sort(edits_, {}, &Edit::begin);
    std::string text;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      text.append(expression_.substr(at, edit.begin - at)).append(edit.text);
      at = edit.end;
    }
    return text.append(expression_.substr(at));
  }

  const std::string_view expression_, driver_;
  const std::vector<Token> tokens_;
  std::vector<Edit> edits_;
  std::vector<std::string> reasons_;
};

}  // namespace

std::optional<Correction> Correct(std::string_view expression, std::string_view driver) {
  auto tokens = cel::Tokenize(expression);
  if (!tokens) return std::nullopt;
  return Corrector(expression, driver, *std::move(tokens)).Run();
}

}  // namespace tessera::lint
