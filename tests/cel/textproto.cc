#include "tests/cel/textproto.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/text.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Message Fields(char close) {
    Message message;
    for (SkipBlanks(); at_ < text_.size() && text_[at_] != close; SkipBlanks()) {
      const std::string name = Name();
      SkipBlanks();
      if (Peek() == ':') ++at_;
      SkipBlanks();
      if (Peek() == '[') {
        ++at_;
        for (SkipBlanks(); Peek() != ']'; SkipBlanks()) message.fields.push_back(One(name));
        ++at_;
      } else {
        message.fields.push_back(One(name));
      }
    }
    if (close != '\0') Expect(close);
    return message;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  [[noreturn]] void Fail(std::string_view what) const {
    const auto line = std::ranges::count(text_.substr(0, at_), '\n') + 1;
    throw std::runtime_error(Format("line {}: {}", line, what));
  }

  void Expect(char c) {
    if (Peek() != c) Fail(Format("expected {}", c));
    ++at_;
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(" \t\r\n,;").contains(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string Name() {
    const std::size_t begin = at_;
    if (Peek() == '[') {
      at_ = text_.find(']', at_) + 1;
    } else {
      while (std::isalnum(static_cast<unsigned char>(Peek())) != 0 || Peek() == '_') ++at_;
    }
    if (at_ == begin) Fail("expected a field's name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Field One(std::string name) {
    Field field{.name = std::move(name)};
    if (Peek() == '{' || Peek() == '<') {
      const char close = Peek() == '{' ? '}' : '>';
      ++at_;
      field.message = Fields(close);
    } else if (Peek() == '"' || Peek() == '\'') {
      for (; Peek() == '"' || Peek() == '\''; SkipBlanks()) field.text += Quoted();
    } else {
      const std::size_t begin = at_;
      at_ = std::min(text_.find_first_of(" \t\r\n,;}>]#", at_), text_.size());
      field.text = text_.substr(begin, at_ - begin);
    }
    return field;
  }

  std::string Quoted() {
    const char quote = text_[at_++];
    std::string out;
    while (Peek() != quote) {
      if (at_ >= text_.size()) Fail("unterminated string");
      out += Peek() == '\\' ? Escape() : std::string(1, text_[at_++]);
    }
    ++at_;
    return out;
  }

  std::string Escape() {
    ++at_;
    const char c = text_[at_++];
    constexpr std::string_view kLetters = "abfnrtv";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v";
    if (const auto letter = kLetters.find(c); letter != std::string_view::npos) return {kMeanings[letter]};
    if (c == 'x' || c == 'X') return Digits(at_, 2, 16);
    if (c == 'u' || c == 'U') return CodePoint(c == 'u' ? 4 : 8);
    if (c >= '0' && c <= '7') return Digits(at_ - 1, 3, 8);
    return {c};
  }

  std::string CodePoint(std::size_t digits) {
    std::string out;
    AppendUtf8(out, ParseNumber<std::uint32_t>(text_.substr(at_, digits), 16).value());
    at_ += digits;
    return out;
  }

  std::string Digits(std::size_t begin, std::size_t most, int base) {
    std::size_t end = begin;
    const std::string_view digits = base == 8 ? "01234567" : "0123456789abcdefABCDEF";
    while (end < text_.size() && end - begin < most && digits.contains(text_[end])) ++end;
    at_ = end;
    return {static_cast<char>(ParseNumber<unsigned>(text_.substr(begin, end - begin), base).value())};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<const Field*> Message::All(std::string_view name) const {
  std::vector<const Field*> found;
  for (const Field& field : fields) {
    if (field.name == name) found.push_back(&field);
  }
  return found;
}

const Field* Message::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

std::string Message::Text(std::string_view name) const {
  const Field* field = Find(name);
  return field == nullptr ? std::string() : field->text;
}

const Message& Message::Child(std::string_view name) const {
  static const Message kEmpty;
  const Field* field = Find(name);
  return field == nullptr ? kEmpty : field->message;
}

Message ParseTextproto(std::string_view text) { return Reader(text).Fields('\0'); }

}  // namespace tessera::cel
