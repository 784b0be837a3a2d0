// cel/value.h: what an expression evaluates to.
//
// A Value is 24 bytes, trivially copied, and owns nothing: text, elements and objects lie in an Arena, in a compiled
// program's constants, or in the device that is looked at. It is valid as long as these are. A failed evaluation is a
// Value as well (kError), because && and || may absorb it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/semver.h"
#include "cel/arena.h"

namespace tessera::cel {

class MapView;
class Value;
struct CidrBlock;
struct DeviceFacts;
struct IpAddress;
struct NamedFormat;
struct Url;

enum class Kind : std::uint8_t {
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kType,
  kList,
  kMap,
  kOptional,
  kQuantity,
  kSemver,
  kIp,
  kCidr,
  kUrl,
  kFormat,
  kDevice,
  kPending,  // Only in the evaluator: a variable whose value nobody has asked for yet.
};

// Seconds since 1970 and the nanoseconds after them.
struct Timestamp {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  auto operator<=>(const Timestamp&) const = default;
};

class Value {
 public:
  Value() = default;  // null

  static Value Bool(bool value) { return Value(Kind::kBool, value ? 1 : 0); }
  static Value Int(std::int64_t value) { return Value(Kind::kInt, value); }
  static Value Size(std::size_t value) { return Value(Kind::kInt, static_cast<std::int64_t>(value)); }
  static Value Uint(std::uint64_t value) { return Value(Kind::kUint, static_cast<std::int64_t>(value)); }
  static Value Double(double value);
  static Value String(std::string_view text) { return Value(Kind::kString, text.data(), text.size()); }
  static Value Bytes(std::string_view text) { return Value(Kind::kBytes, text.data(), text.size()); }
  static Value Time(Timestamp time);
  static Value Duration(std::int64_t nanos) { return Value(Kind::kDuration, nanos); }
  static Value Type(std::string_view name) { return Value(Kind::kType, name.data(), name.size()); }
  static Value List(std::span<const Value> items) { return Value(Kind::kList, items.data(), items.size()); }
  static Value Map(const MapView* map) { return Value(Kind::kMap, map, 0); }
  static Value Some(const Value* content) { return Value(Kind::kOptional, content, 0); }
  static Value None() { return Value(Kind::kOptional, nullptr, 0); }
  // `is_sum`: came from add() or sub(). Kubernetes keeps these as another Go type, which == refuses on its right side.
  static Value Of(const Quantity* quantity, bool is_sum = false) { return Value(Kind::kQuantity, quantity, is_sum); }
  static Value Of(const Semver* version) { return Value(Kind::kSemver, version, 0); }
  static Value Of(const IpAddress* ip) { return Value(Kind::kIp, ip, 0); }
  static Value Of(const CidrBlock* cidr) { return Value(Kind::kCidr, cidr, 0); }
  static Value Of(const Url* url) { return Value(Kind::kUrl, url, 0); }
  static Value Of(const NamedFormat* format) { return Value(Kind::kFormat, format, 0); }
  static Value Of(const DeviceFacts* device) { return Value(Kind::kDevice, device, 0); }
  // `step` computes it; with `unwrap` it is the content of the optional that the step gives.
  static Value Pending(std::uint32_t step, bool unwrap) {
    Value value(Kind::kPending, step);
    value.size_ = unwrap ? 1 : 0;
    return value;
  }
  // The message must outlive the value: a literal, or text in the arena.
  static Value Error(std::string_view message) { return Value(Kind::kError, message.data(), message.size()); }

  Kind kind() const { return kind_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool IsError() const { return kind_ == Kind::kError; }
  bool IsTrue() const { return kind_ == Kind::kBool && number_ != 0; }
  bool IsFalse() const { return kind_ == Kind::kBool && number_ == 0; }
  bool IsNumber() const { return kind_ >= Kind::kInt && kind_ <= Kind::kDouble; }

  // Each may be called only on its own kind.
  bool AsBool() const { return number_ != 0; }
  std::int64_t AsInt() const { return number_; }
  std::uint64_t AsUint() const { return static_cast<std::uint64_t>(number_); }
  double AsDouble() const;
  std::string_view AsText() const { return {static_cast<const char*>(pointer_), size_}; }  // string, bytes, type, error
  Timestamp AsTime() const;
  std::int64_t AsNanos() const { return number_; }
  std::span<const Value> AsList() const { return {static_cast<const Value*>(pointer_), size_}; }
  const MapView& AsMap() const { return *static_cast<const MapView*>(pointer_); }
  const Value* AsOptional() const { return static_cast<const Value*>(pointer_); }  // null: none
  const Quantity& AsQuantity() const { return *static_cast<const Quantity*>(pointer_); }
  bool IsSum() const { return size_ != 0; }
  const Semver& AsSemver() const { return *static_cast<const Semver*>(pointer_); }
  const IpAddress& AsIp() const { return *static_cast<const IpAddress*>(pointer_); }
  const CidrBlock& AsCidr() const { return *static_cast<const CidrBlock*>(pointer_); }
  const Url& AsUrl() const { return *static_cast<const Url*>(pointer_); }
  const NamedFormat& AsFormat() const { return *static_cast<const NamedFormat*>(pointer_); }
  std::uint32_t PendingStep() const { return static_cast<std::uint32_t>(number_); }
  bool PendingUnwraps() const { return size_ != 0; }
  const DeviceFacts& AsDevice() const { return *static_cast<const DeviceFacts*>(pointer_); }

 private:
  Value(Kind kind, std::int64_t number) : kind_(kind), number_(number) {}
  Value(Kind kind, const void* pointer, std::size_t size) : kind_(kind), pointer_(pointer), size_(size) {}

  Kind kind_ = Kind::kNull;
  union {
    std::int64_t number_ = 0;
    const void* pointer_;
  };
  std::size_t size_ = 0;
};

// A map as the evaluator sees it: a literal's entries, or a device's attributes.
class MapView {
 public:
  struct Entry {
    Value key;
    Value value;
  };

  virtual ~MapView() = default;
  virtual std::size_t Size() const = 0;
  virtual Entry At(Arena& arena, std::size_t index) const = 0;
  // Numeric keys are found by value: 1, 1u and 1.0 are one key.
  virtual std::optional<Value> Find(Arena& arena, const Value& key) const = 0;
  // What `key in map` answers. device.attributes has an answer for every domain, but holds only the real ones.
  virtual bool Holds(Arena& arena, const Value& key) const { return Find(arena, key).has_value(); }
};

// "int", "list", "kubernetes.Quantity": the name that type() gives and messages use.
std::string_view TypeName(Kind kind);
std::string_view TypeName(const Value& value);

// == as cel-go has it: numbers by value across types, different kinds unequal, but the Kubernetes types refuse to be
// compared with anything else.
enum class Equality : std::uint8_t { kUnequal, kEqual, kNoOverload };
Equality Equal(Arena& arena, const Value& a, const Value& b);

// <, ==, >, or why the two have no order.
enum class Order : std::uint8_t { kLess, kEqual, kGreater, kNotANumber, kNoOverload };
Order Compare(const Value& a, const Value& b);

// The number as int64, when it is one exactly.
std::optional<std::int64_t> ExactInt(const Value& number);

// A key or an element in a message: text bare, numbers as literals.
std::string ForMessage(const Value& value);

}  // namespace tessera::cel
