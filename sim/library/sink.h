// sim/library/sink.h: where an NVML function puts its answer.
//
// A sink knows three things about the caller's memory: whether it may be written at all (Check), how an answer goes
// into it (Write), and how much of it a fault may fill with nonsense (Spoil). None writes past what the caller's
// version of NVML declared.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "nvml/abi.h"

namespace tessera::sim::library {

using namespace nvml::abi;

inline constexpr int kNonsense = 0xA5;

template <class T>
void SpoilBytes(T* out, std::size_t bytes = sizeof(T)) {
  std::memset(static_cast<void*>(out), kNonsense, bytes);
}

// One plain value or struct: `unsigned* minor`.
template <class T>
struct One {
  T* out;
  Return Check() const { return out == nullptr ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(out); }
  template <class V>
  Return Write(const V& value) const {
    *out = static_cast<T>(value);
    return kSuccess;
  }
};

// Several plain values, none of which may be null: All(current, pending).
template <class... T>
struct All {
  explicit All(T*... targets) : out(targets...) {}
  std::tuple<T*...> out;

  Return Check() const {
    const bool whole = std::apply([](auto*... p) { return (... && (p != nullptr)); }, out);
    return whole ? kSuccess : kInvalidArgument;
  }
  void Spoil() const {
    std::apply([](auto*... p) { (SpoilBytes(p), ...); }, out);
  }
  Return Write(const std::tuple<T...>& values) const {
    std::apply([&](auto*... p) { std::tie(*p...) = values; }, out);
    return kSuccess;
  }
};

// A buffer for text. Too short: nothing is written.
struct Text {
  char* buffer;
  unsigned length;

  Return Check() const { return buffer == nullptr ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(buffer, length); }  // Without a final NUL.
  Return Write(std::string_view text) const {
    if (text.size() >= length) return kInsufficientSize;
    text.copy(buffer, text.size());
    buffer[text.size()] = '\0';
    return kSuccess;
  }
};

// A struct whose `version` the caller has set; keeps it.
template <class T>
struct Versioned {
  T* out;
  unsigned number;
  Return mismatch = kArgumentVersionMismatch;

  Return Check() const {
    if (out == nullptr) return kInvalidArgument;
    return out->version == VersionOf<T>(number) ? kSuccess : mismatch;
  }
  void Spoil() const {
    const unsigned version = out->version;
    SpoilBytes(out);
    out->version = version;
  }
  Return Write(T value) const {
    value.version = out->version;
    *out = value;
    return kSuccess;
  }
};
template <class T>
Versioned(T*, unsigned) -> Versioned<T>;

// Whether a struct that exists in several versions was passed in as this one.
template <class T>
bool Asks(const void* info, unsigned number) {
  unsigned version = 0;
  if (info != nullptr) std::memcpy(&version, info, sizeof(version));
  return version == VersionOf<T>(number);
}

// An array whose capacity the caller passes in *count. Too short: *count says how many there are.
template <class T>
struct Sized {
  unsigned* count;
  T* items;

  Return Check() const { return count == nullptr || (items == nullptr && *count != 0) ? kInvalidArgument : kSuccess; }
  void Spoil() const {
    if (*count != 0) SpoilBytes(items, sizeof(T) * *count);
    SpoilBytes(count);
  }
  Return Write(const std::vector<T>& values) const {
    const unsigned capacity = *count;
    *count = static_cast<unsigned>(values.size());
    if (capacity < values.size()) return kInsufficientSize;
    std::ranges::copy(values, items);
    return kSuccess;
  }
};
template <class T>
Sized(unsigned*, T*) -> Sized<T>;

// An array that the caller has made large enough by another call's answer; null asks for the count only.
template <class T>
struct Filled {
  T* items;
  unsigned* count;

  Return Check() const { return count == nullptr ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(count); }
  Return Write(const std::vector<T>& values) const {
    *count = static_cast<unsigned>(values.size());
    if (items != nullptr) std::ranges::copy(values, items);
    return kSuccess;
  }
};
template <class T>
Filled(T*, unsigned*) -> Filled<T>;

// As many as fit of what there is; a count of 0 asks how many there are.
template <class T>
struct Offered {
  unsigned* count;
  T* items;

  Return Check() const { return count == nullptr ? kInvalidArgument : kSuccess; }
  void Spoil() const {
    if (items != nullptr) SpoilBytes(items, sizeof(T) * *count);
    SpoilBytes(count);
  }
  Return Write(const std::vector<T>& values) const {
    const auto all = static_cast<unsigned>(values.size());
    const unsigned wanted = items == nullptr || *count == 0 ? 0 : std::min(*count, all);
    std::copy_n(values.begin(), wanted, items);
    *count = wanted == 0 ? all : wanted;
    return kSuccess;
  }
};
template <class T>
Offered(unsigned*, T*) -> Offered<T>;

// Only the first `bytes` of a struct, for symbols that are older than its last members.
template <class T>
struct Prefix {
  T* out;
  std::size_t bytes;

  Return Check() const { return out == nullptr ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(out, bytes); }
  Return Write(const T& value) const {
    std::memcpy(static_cast<void*>(out), &value, bytes);
    return kSuccess;
  }
};
template <class T>
Prefix(T*, std::size_t) -> Prefix<T>;

// What a plain pointer argument means.
template <class T>
One<T> MakeSink(T* out) {
  return {out};
}
template <class Sink>
  requires std::is_class_v<Sink>
const Sink& MakeSink(const Sink& sink) {
  return sink;
}

// The text of a fixed-size member, cut to fit and always terminated.
template <std::size_t size>
void SetText(char (&member)[size], std::string_view text) {
  const std::size_t length = text.copy(member, size - 1);
  member[length] = '\0';
}

}  // namespace tessera::sim::library
