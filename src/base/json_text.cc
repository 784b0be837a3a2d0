#include "base/json_text.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

struct Control {
  unsigned code;     // The character.
  std::size_t size;  // In bytes.
};

// The control character or line end that `text` begins with. Bytes that are no UTF-8 are none.
std::optional<Control> ControlAt(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(at < text.size() ? text[at] : 0); };
  if (byte(0) >= 0x20 && byte(0) < 0x7F) return std::nullopt;  // Almost always.
  if (byte(0) < 0x80) return Control{byte(0), 1};
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return Control{byte(1), 2};
  constexpr std::pair<std::string_view, unsigned> kLong[]{
      {"\u2028", 0x2028}, {"\u2029", 0x2029}, {"\uFEFF", 0xFEFF}, {"\uFFFE", 0xFFFE}, {"\uFFFF", 0xFFFF}};
  for (const auto& [character, code] : kLong) {
    if (text.starts_with(character)) return Control{code, character.size()};
  }
  return std::nullopt;
}

void AppendEscaped(std::string& out, unsigned code) {
  switch (code) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += Format("\\u{:04x}", code);
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t size = 1;
    if (const auto control = ControlAt(text)) {
      AppendEscaped(out, control->code);
      size = control->size;
    } else {
      if (text.front() == '"' || text.front() == '\\') out += '\\';
      out += text.front();
    }
    text.remove_prefix(size);
  }
  out += '"';
}

bool HasControls(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (ControlAt(text)) return true;
  }
  return false;
}

}  // namespace tessera
