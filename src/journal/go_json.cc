#include "journal/go_json.h"

#include <algorithm>
#include <map>

#include "base/quantity.h"
#include "base/text.h"

namespace tessera::journal {
namespace {

using Kind = GoType::Kind;

// "2026-08-21T09:30:00Z": the one form that Go reads and writes the same.
bool IsGoTime(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

bool Fits(Kind kind, const json::Value& value) {
  switch (kind) {
    case Kind::kText:
      return value.is_string();
    case Kind::kFlag:
      return value.is_bool();
    case Kind::kInteger:
      return value.is_int64();
    case Kind::kTime:
      return value.is_string() && IsGoTime(std::string_view(value.get_string()));
    case Kind::kQuantity:
      return value.is_string() && Quantity::Parse(std::string_view(value.get_string())).has_value();
    case Kind::kRaw:
      return !value.is_null();
    case Kind::kList:
      return value.is_array();
    case Kind::kMap:
    case Kind::kStruct:
      return value.is_object();
  }
  std::unreachable();
}

json::Value Zero(const GoType& type) {
  switch (type.kind) {
    case Kind::kText:
      return json::Value("");
    case Kind::kFlag:
      return json::Value(false);
    case Kind::kInteger:
      return json::Value(0);
    case Kind::kQuantity:
      return json::Value("0");
    case Kind::kStruct:
      return ThroughGo(type, json::Object());
    case Kind::kTime:
    case Kind::kRaw:
    case Kind::kList:
    case Kind::kMap:
      return json::Value();
  }
  std::unreachable();
}

// What "omitempty" leaves out. Structs never count as empty.
bool IsEmpty(const json::Value& value, Kind kind) {
  switch (kind) {
    case Kind::kText:
      return value.get_string().empty();
    case Kind::kFlag:
      return !value.get_bool();
    case Kind::kInteger:
      return value.get_int64() == 0;
    case Kind::kList:
      return !value.is_array() || value.get_array().empty();
    case Kind::kMap:
      return !value.is_object() || value.get_object().empty();
    default:
      return false;
  }
}

json::Value Struct(std::span<const GoField> fields, const json::Object& object) {
  json::Object out;
  for (const GoField& field : fields) {
    const json::Value* found = object.if_contains(field.name);
    const bool is_there = found != nullptr && Fits(field.type->kind, *found);
    if (field.is_pointer && !is_there) {
      if (!field.omit_empty) out.emplace(field.name, nullptr);
      continue;
    }
    json::Value value = is_there ? ThroughGo(*field.type, *found) : Zero(*field.type);
    if (!field.is_pointer && field.omit_empty && IsEmpty(value, field.type->kind)) continue;
    out.emplace(field.name, std::move(value));
  }
  return out;
}

json::Value Map(const GoType& element, const json::Object& object) {
  std::map<std::string_view, const json::Value*> sorted;
  for (const auto& item : object) sorted.emplace(item.key(), &item.value());
  json::Object out;
  for (const auto& [key, value] : sorted) out.emplace(key, ThroughGo(element, *value));
  return out;
}

json::Value List(const GoType& element, const json::Array& array) {
  json::Array out;
  for (const json::Value& item : array) out.push_back(ThroughGo(element, item));
  return out;
}

void Append(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (constexpr std::string_view kShort = "\b\f\n\r\t"; kShort.contains(c)) {
      out.append({'\\', "bfnrt"[kShort.find(c)]});
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
      out += Format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += c;
    }
  }
  out += '"';
}

void Append(std::string& out, const json::Value& value) {
  const char* separator = "";
  if (const json::Object* object = value.if_object()) {
    out += '{';
    for (const auto& item : *object) {
      out += std::exchange(separator, ",");
      Append(out, std::string_view(item.key()));
      out += ':';
      Append(out, item.value());
    }
    out += '}';
  } else if (const json::Array* array = value.if_array()) {
    out += '[';
    for (const json::Value& item : *array) {
      out += std::exchange(separator, ",");
      Append(out, item);
    }
    out += ']';
  } else if (const json::String* text = value.if_string()) {
    Append(out, std::string_view(*text));
  } else {
    out += json::PrintJson(value);
  }
}

}  // namespace

json::Value ThroughGo(const GoType& type, const json::Value& value) {
  if (!Fits(type.kind, value)) return Zero(type);
  switch (type.kind) {
    case Kind::kQuantity:
      return json::Value(std::string_view(Quantity::Parse(std::string_view(value.get_string())).value().ToString()));
    case Kind::kList:
      return List(*type.element, value.get_array());
    case Kind::kMap:
      return Map(*type.element, value.get_object());
    case Kind::kStruct:
      return Struct(type.fields, value.get_object());
    default:
      return value;
  }
}

std::string PrintGoJson(const json::Value& value) {
  std::string out;
  Append(out, value);
  return out;
}

std::uint32_t GoChecksum(std::string_view json) {
  std::uint32_t hash = 0x811C9DC5;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  };
  add("([]uint8)[");
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (i > 0) add(" ");
    add(std::to_string(static_cast<unsigned char>(json[i])));
  }
  add("]");
  return hash;
}

}  // namespace tessera::journal
