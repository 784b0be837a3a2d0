#include <charconv>
#include <cmath>

#include "base/json_text.h"
#include "base/text.h"
#include "json/value.h"
#include "json/yaml_scalar.h"

namespace tessera::json {
namespace {

// The shortest text that reads back as the same number; JSON has no infinities, so they become null.
void AppendDouble(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";  // So that it stays a double when read.
}

// Everything but containers.
void AppendScalar(std::string& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
      out += std::to_string(value.get_int64());
      break;
    case boost::json::kind::uint64:
      out += std::to_string(value.get_uint64());
      break;
    case boost::json::kind::double_:
      AppendDouble(out, value.get_double());
      break;
    default:
      AppendJsonString(out, value.get_string());
  }
}

class JsonPrinter {
 public:
  explicit JsonPrinter(int indent) : indent_(indent) {}

  void Print(const Value& value) {
    if (const Object* object = value.if_object()) {
      PrintContainer('{', '}', *object, [this](const auto& item) {
        AppendJsonString(out_, item.key());
        out_ += indent_ > 0 ? ": " : ":";
        Print(item.value());
      });
    } else if (const Array* array = value.if_array()) {
      PrintContainer('[', ']', *array, [this](const Value& item) { Print(item); });
    } else {
      AppendScalar(out_, value);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void PrintContainer(char open, char close, const auto& items, const auto& print_item) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ',';
      first = false;
      NewLine();
      print_item(item);
    }
    --depth_;
    if (!first) NewLine();
    out_ += close;
  }
  void NewLine() {
    if (indent_ > 0)
      out_.append("\n").append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
  }

  const int indent_;
  int depth_ = 0;
  std::string out_;
};

// Whether a YAML reader would take this plain text for something else than a string. Errs on the side of quotes.
bool NeedsQuotes(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return true;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`=~<").find(text.front()) != std::string_view::npos) return true;
  if (text.starts_with("...")) return true;  // Ends a document.
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return true;
  if (HasControls(text)) return true;
  // Other readers know dates (2026-08-21) and base 60 (0000:07:00.0).
  const bool digits = text.front() >= '0' && text.front() <= '9';
  if (digits && (text.find(':') != std::string_view::npos || (text.size() == 10 && text[4] == '-'))) return true;
  return !ResolveYamlScalar(text).is_string();
}

class YamlPrinter {
 public:
  void Print(const Value& value) {
    if (IsEmpty(value) || !value.is_structured()) {
      Inline(value);
      out_ += '\n';
    } else {
      Block(value, 0);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  static bool IsEmpty(const Value& value) {
    return (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
  }

  void Inline(const Value& value) {
    if (value.is_object()) {
      out_ += "{}";
    } else if (value.is_array()) {
      out_ += "[]";
    } else if (value.is_string() && !NeedsQuotes(std::string_view(value.get_string()))) {
      out_ += std::string_view(value.get_string());
    } else {
      AppendScalar(out_, value);
    }
  }

  // The container's lines, each starting at `indent`; the first line's indentation is already there.
  void Block(const Value& value, std::size_t indent) {
    bool first = true;
    const auto start_line = [&] {
      if (!first) out_.append(indent, ' ');
      first = false;
    };
    if (const Object* object = value.if_object()) {
      for (const auto& item : *object) {
        start_line();
        Key(item.key(), indent);
        out_ += ':';
        Member(item.value(), indent);
      }
      return;
    }
    for (const Value& item : value.get_array()) {
      start_line();
      out_ += "- ";
      if (item.is_structured() && !IsEmpty(item)) {
        Block(item, indent + 2);
      } else {
        Inline(item);
        out_ += '\n';
      }
    }
  }

  // YAML looks for the colon in the next 1,024 characters only, unless the key is marked as one.
  void Key(std::string_view key, std::size_t indent) {
    const std::size_t start = out_.size();
    Inline(Value(key));
    if (out_.size() - start <= 1'000) return;
    out_.insert(start, "? ");
    out_.append("\n").append(indent, ' ');
  }

  // What follows "key:". Arrays are not indented below their key, as kubectl prints them.
  void Member(const Value& value, std::size_t indent) {
    if (!value.is_structured() || IsEmpty(value)) {
      out_ += ' ';
      Inline(value);
      out_ += '\n';
      return;
    }
    const std::size_t inner = value.is_array() ? indent : indent + 2;
    out_.append("\n").append(inner, ' ');
    Block(value, inner);
  }

  std::string out_;
};

}  // namespace

std::string PrintJson(const Value& value, int indent) {
  JsonPrinter printer(indent);
  printer.Print(value);
  return printer.Take();
}

std::string PrintYaml(const Value& value) {
  YamlPrinter printer;
  printer.Print(value);
  return printer.Take();
}

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "integer";
    case boost::json::kind::double_:
      return "number";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
  }
  std::unreachable();
}

std::string Describe(const Value& value) {
  if (value.is_structured() || value.is_null()) return std::string(TypeName(value));
  if (value.is_string()) return Quote(Clip(std::string_view(value.get_string()), 60));
  return PrintJson(value);
}

}  // namespace tessera::json
