// json/decode.h: structs from JSON and back, by one description of their fields.
//
//   struct Request { std::string name; std::int64_t count = 1; };
//   template <class F> void Describe(F& f, Request& r) { f.Required("name", r.name); f.Optional("count", r.count); }
//
//   Result<Request> request = json::Decode<Request>(value);   // "requests[0].count: expected integer, found \"two\""
//   json::Value back = json::Encode(*request);
//
// Reading reports every problem at once, each with the path of its field. A null counts as absent, as in the
// Kubernetes API. Writing keeps the order of the description and leaves out empty optionals, lists and maps.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "json/value.h"

namespace tessera::json {

// What to do with fields that the description does not name: our own configs reject them, objects of other programs
// (the API server's, a newer version's) keep going.
enum class Unknown : std::uint8_t { kReject, kIgnore };

class Reader;
class Writer;

template <class T>
concept Described = requires(Reader& reader, Writer& writer, T& value) {
  Describe(reader, value);
  Describe(writer, value);
};

// A type that is text in JSON (an enum, a quantity) has `FromText(std::string_view, T&) -> bool` and `ToText(const
// T&)`.
template <class T>
concept Textual = requires(std::string_view text, T& out, const T& in) {
  { FromText(text, out) } -> std::same_as<bool>;
  { ToText(in) } -> std::convertible_to<std::string>;
};

// Where a value stands in its document. A chain on the stack, so that reading without faults costs no text.
struct Path {
  const Path* parent = nullptr;
  std::string_view key = {};  // A field, a map's key, or at the top the prefix that Decode() was given …
  std::size_t index = 0;      // … or a position in a list.
  enum class Step : std::uint8_t { kTop, kField, kKey, kIndex } step = Step::kTop;

  std::string ToString() const;  // "spec.requests[0].count", "limits[\"x\"]"
};

// The faults found so far, each as "path: what is wrong".
class Problems {
 public:
  void Add(const Path& path, std::string_view what);
  bool empty() const { return found_.empty(); }
  Error AsError() const;  // All of them, joined by "; ". Must not be empty().

 private:
  std::vector<std::string> found_;
};

// Reads one JSON object's fields.
class Reader {
 public:
  Reader(const Object& object, const Path& path, Unknown unknown, Problems& problems)
      : object_(object), path_(path), unknown_(unknown), problems_(problems) {}

  template <class T>
  void Required(std::string_view key, T& out) {
    if (const Value* value = Take(key)) {
      Read(*value, Field(key), out);
    } else {
      problems_.Add(Field(key), "required field is missing");
    }
  }

  template <class T>
  void Optional(std::string_view key, T& out) {
    if (const Value* value = Take(key)) Read(*value, Field(key), out);
  }
  template <class T>
  void Optional(std::string_view key, std::optional<T>& out) {
    if (const Value* value = Take(key)) Read(*value, Field(key), out.emplace());
  }

  // A rule between fields that only the description knows: f.Check(r.count > 0, "count", "must be positive").
  void Check(bool holds, std::string_view key, std::string_view what) {
    if (!holds) problems_.Add(Field(key), what);
  }

  // Called once after the description: names the fields nobody asked for.
  void Finish();

  template <class T>
  void Read(const Value& value, const Path& path, T& out);

 private:
  const Value* Take(std::string_view key);
  Path Field(std::string_view key) const { return {&path_, key, 0, Path::Step::kField}; }
  void Expected(std::string_view wanted, const Value& found, const Path& path) {
    problems_.Add(path, Format("expected {}, found {}", wanted, Describe(found)));
  }
  template <std::integral T>
  void ReadInteger(const Value& value, const Path& path, T& out);

  const Object& object_;
  const Path& path_;
  const Unknown unknown_;
  Problems& problems_;
  std::array<std::string_view, 64> known_;  // The fields asked for; no struct of ours has as many.
  std::size_t known_count_ = 0;
};

// Writes one JSON object's fields.
class Writer {
 public:
  explicit Writer(const Storage& storage) : object_(storage) { object_.reserve(kUsualFields); }

  template <class T>
  void Required(std::string_view key, const T& value) {
    object_.emplace(key, Write(value, object_.storage()));
  }
  template <class T>
  void Optional(std::string_view key, const T& value) {
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    }
    object_.emplace(key, Write(value, object_.storage()));
  }
  template <class T>
  void Optional(std::string_view key, const std::optional<T>& value) {
    if (value) object_.emplace(key, Write(*value, object_.storage()));
  }
  void Check(bool, std::string_view, std::string_view) {}

  Object Take() { return std::move(object_); }

  template <class T>
  static Value Write(const T& value, const Storage& storage);

 private:
  static constexpr std::size_t kUsualFields = 12;
  Object object_;
};

// `path` is where `value` stands in its document; errors start with it.
template <class T>
Result<T> Decode(const Value& value, Unknown unknown = Unknown::kReject, std::string_view path = {}) {
  Problems problems;
  T out{};
  const Object none;
  const Path top{nullptr, path, 0, Path::Step::kTop};
  Reader(none, top, unknown, problems).Read(value, top, out);
  if (!problems.empty()) return std::unexpected(problems.AsError());
  return out;
}

// With memory of its own, `storage` must outlive the value.
template <class T>
Value Encode(const T& value, const Storage& storage = {}) {
  return Writer::Write(value, storage);
}

// ---- Details.

namespace detail {
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T, class C>
inline constexpr bool kIsMap<std::map<std::string, T, C>> = true;
}  // namespace detail

template <std::integral T>
void Reader::ReadInteger(const Value& value, const Path& path, T& out) {
  const auto store = [&](auto number) {
    if (std::in_range<T>(number)) {
      out = static_cast<T>(number);
    } else {
      problems_.Add(path, Format("{} is out of range", number));
    }
  };
  if (const auto* number = value.if_int64()) {
    store(*number);
  } else if (const auto* large = value.if_uint64()) {
    store(*large);
  } else {
    Expected("integer", value, path);
  }
}

template <class T>
void Reader::Read(const Value& value, const Path& path, T& out) {
  if constexpr (std::same_as<T, Value>) {
    out = value;
  } else if constexpr (std::same_as<T, bool>) {
    if (const bool* flag = value.if_bool()) {
      out = *flag;
    } else {
      Expected("boolean", value, path);
    }
  } else if constexpr (std::integral<T>) {
    ReadInteger(value, path, out);
  } else if constexpr (std::floating_point<T>) {
    if (value.is_number()) {
      out = value.to_number<T>();
    } else {
      Expected("number", value, path);
    }
  } else if constexpr (std::same_as<T, std::string>) {
    if (const String* text = value.if_string()) {
      out.assign(text->data(), text->size());
    } else {
      Expected("string", value, path);
    }
  } else if constexpr (Textual<T>) {
    const String* text = value.if_string();
    if (text == nullptr) {
      Expected("string", value, path);
    } else if (!FromText(std::string_view(*text), out)) {
      problems_.Add(path, Format("{} is not a valid value", Quote(Clip(std::string_view(*text), 60))));
    }
  } else if constexpr (detail::kIsVector<T>) {
    const Array* array = value.if_array();
    if (array == nullptr) return Expected("array", value, path);
    out.clear();
    out.reserve(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      Read((*array)[i], Path{&path, {}, i, Path::Step::kIndex}, out.emplace_back());
    }
  } else if constexpr (detail::kIsMap<T>) {
    const Object* object = value.if_object();
    if (object == nullptr) return Expected("object", value, path);
    out.clear();
    for (const auto& item : *object) {
      const std::string key(item.key());
      Read(item.value(), Path{&path, key, 0, Path::Step::kKey}, out[key]);
    }
  } else {
    static_assert(Described<T>, "give the struct a Describe(), or FromText() and ToText()");
    const Object* object = value.if_object();
    if (object == nullptr) return Expected("object", value, path);
    Reader fields(*object, path, unknown_, problems_);
    Describe(fields, out);
    fields.Finish();
  }
}

template <class T>
Value Writer::Write(const T& value, const Storage& storage) {
  if constexpr (std::same_as<T, Value> || std::integral<T> || std::floating_point<T>) {
    return Value(value, storage);
  } else if constexpr (std::same_as<T, std::string>) {
    return Value(std::string_view(value), storage);
  } else if constexpr (Textual<T>) {
    return Value(std::string_view(ToText(value)), storage);
  } else if constexpr (detail::kIsVector<T>) {
    Array array(storage);
    array.reserve(value.size());
    for (const auto& item : value) array.push_back(Write(item, storage));
    return Value(std::move(array));
  } else if constexpr (detail::kIsMap<T>) {
    Object object(storage);
    for (const auto& [key, item] : value) object.emplace(key, Write(item, storage));
    return Value(std::move(object));
  } else {
    static_assert(Described<T>, "give the struct a Describe(), or FromText() and ToText()");
    Writer fields(storage);
    Describe(fields, const_cast<T&>(value));  // One description serves both ways; a Writer only looks.
    return Value(fields.Take());
  }
}

}  // namespace tessera::json
