// Conversions, size() and what strings can do in the standard.
#include <cmath>
#include <string>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/context.h"
#include "cel/library.h"
#include "cel/number_text.h"
#include "cel/regex.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

Value Same(Context& /*context*/, Arguments a) { return a[0]; }
Value TypeOf(Context& /*context*/, Arguments a) { return Value::Type(TypeName(a[0])); }

Value SizeOf(Context& context, Arguments a) {
  switch (a[0].kind()) {
    case Kind::kString:
      context.arena.Work(a[0].AsText().size() / 16);
      return Value::Size(CountCodePoints(a[0].AsText()));
    case Kind::kBytes:
      return Value::Size(a[0].AsText().size());
    case Kind::kList:
      return Value::Size(a[0].AsList().size());
    default:
      return Value::Size(a[0].AsMap().Size());
  }
}

Value StringToBool(Context& /*context*/, Arguments a) {
  const std::string_view text = a[0].AsText();
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return Value::Bool(false);
  }
  return Value::Error("type conversion error from 'string' to 'bool'");
}

Value DoubleToInt(Context& /*context*/, Arguments a) {
  const double value = a[0].AsDouble();
  // The limits themselves are refused: near them a double stands for many integers.
  const bool fits = value > -kTwoTo63 && value < kTwoTo63;  // False for NaN.
  return fits ? Value::Int(static_cast<std::int64_t>(value)) : Value::Error("integer overflow");
}

Value UintToInt(Context& /*context*/, Arguments a) {
  return a[0].AsInt() < 0 ? Value::Error("integer overflow") : Value::Int(a[0].AsInt());
}

Value StringToInt(Context& /*context*/, Arguments a) {
  std::string_view text = a[0].AsText();
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto number = ParseNumber<std::int64_t>(text);
  if (number) return Value::Int(*number);
  return Value::Error("type conversion error from 'string' to 'int'");
}

Value TimeToInt(Context& /*context*/, Arguments a) { return Value::Int(a[0].AsTime().seconds); }
Value DurationToInt(Context& /*context*/, Arguments a) { return Value::Int(a[0].AsNanos()); }

Value IntToUint(Context& /*context*/, Arguments a) {
  return a[0].AsInt() < 0 ? Value::Error("unsigned integer overflow") : Value::Uint(a[0].AsUint());
}

Value DoubleToUint(Context& /*context*/, Arguments a) {
  const double value = a[0].AsDouble();
  const bool fits = value >= 0 && value < kTwoTo64;  // False for NaN.
  return fits ? Value::Uint(static_cast<std::uint64_t>(value)) : Value::Error("unsigned integer overflow");
}

Value StringToUint(Context& /*context*/, Arguments a) {
  const auto number = ParseNumber<std::uint64_t>(a[0].AsText());
  if (number) return Value::Uint(*number);
  return Value::Error("type conversion error from 'string' to 'uint'");
}

Value IntToDouble(Context& /*context*/, Arguments a) { return Value::Double(static_cast<double>(a[0].AsInt())); }
Value UintToDouble(Context& /*context*/, Arguments a) { return Value::Double(static_cast<double>(a[0].AsUint())); }

Value StringToDouble(Context& /*context*/, Arguments a) {
  const auto number = ParseDouble(a[0].AsText());
  if (number) return Value::Double(*number);
  return Value::Error("type conversion error from 'string' to 'double'");
}

Value BoolToString(Context& /*context*/, Arguments a) { return Value::String(a[0].AsBool() ? "true" : "false"); }
Value IntToString(Context& context, Arguments a) { return context.Text(std::to_string(a[0].AsInt())); }
Value UintToString(Context& context, Arguments a) { return context.Text(std::to_string(a[0].AsUint())); }
Value DoubleToString(Context& context, Arguments a) { return context.Text(PrintDouble(a[0].AsDouble())); }
Value TimeToString(Context& context, Arguments a) { return context.Text(PrintTime(a[0].AsTime())); }
Value DurationToString(Context& context, Arguments a) { return context.Text(PrintDuration(a[0].AsNanos())); }
Value StringToBytes(Context& /*context*/, Arguments a) { return Value::Bytes(a[0].AsText()); }

Value BytesToString(Context& /*context*/, Arguments a) {
  if (!IsValidUtf8(a[0].AsText())) return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
  return Value::String(a[0].AsText());
}

Value StringToTime(Context& /*context*/, Arguments a) {
  const auto time = ParseTime(a[0].AsText());
  if (!time) return Value::Error("type conversion error from 'string' to 'timestamp'");
  return IsInRange(*time) ? Value::Time(*time) : Value::Error("timestamp overflow");
}

Value IntToTime(Context& /*context*/, Arguments a) {
  const Timestamp time{a[0].AsInt(), 0};
  return IsInRange(time) ? Value::Time(time) : Value::Error("timestamp overflow");
}

Value StringToDuration(Context& /*context*/, Arguments a) {
  const auto nanos = ParseDuration(a[0].AsText());
  if (nanos) return Value::Duration(*nanos);
  return Value::Error("type conversion error from 'string' to 'duration'");
}

Value IntToDuration(Context& /*context*/, Arguments a) { return Value::Duration(a[0].AsInt()); }

Value Contains(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsText().contains(a[1].AsText())); }
Value StartsWith(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsText().starts_with(a[1].AsText())); }
Value EndsWith(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsText().ends_with(a[1].AsText())); }

Value Matches(Context& context, Arguments a) {
  const re2::RE2* regex = context.Regex(a[1].AsText());
  if (!regex->ok()) return context.Error(Format("error parsing regexp: {}", regex->error()));
  return Value::Bool(re2::RE2::PartialMatch(Piece(a[0].AsText()), *regex));
}

constexpr auto kGlobal = Style::kGlobal;
constexpr auto kMethod = Style::kMethod;

constexpr OverloadSpec Standard(std::string_view name, Style style, std::string_view signature, Implementation run,
                                CostRule cost = CostRule::kOne) {
  return {name, style, signature, run, cost, true};
}

constexpr OverloadSpec kOverloads[]{
    Standard("dyn", kGlobal, "(A) dyn", Same),
    Standard("type", kGlobal, "(A) type<A>", TypeOf),
    Standard("size", kGlobal, "(bytes) int", SizeOf),
    Standard("size", kGlobal, "(list<A>) int", SizeOf),
    Standard("size", kGlobal, "(map<A, B>) int", SizeOf),
    Standard("size", kGlobal, "(string) int", SizeOf),
    Standard("size", kMethod, "(bytes) int", SizeOf),
    Standard("size", kMethod, "(list<A>) int", SizeOf),
    Standard("size", kMethod, "(map<A, B>) int", SizeOf),
    Standard("size", kMethod, "(string) int", SizeOf),
    Standard("bool", kGlobal, "(bool) bool", Same),
    Standard("bool", kGlobal, "(string) bool", StringToBool),
    Standard("int", kGlobal, "(int) int", Same),
    Standard("int", kGlobal, "(double) int", DoubleToInt),
    Standard("int", kGlobal, "(duration) int", DurationToInt),
    Standard("int", kGlobal, "(string) int", StringToInt),
    Standard("int", kGlobal, "(timestamp) int", TimeToInt),
    Standard("int", kGlobal, "(uint) int", UintToInt),
    Standard("uint", kGlobal, "(uint) uint", Same),
    Standard("uint", kGlobal, "(double) uint", DoubleToUint),
    Standard("uint", kGlobal, "(int) uint", IntToUint),
    Standard("uint", kGlobal, "(string) uint", StringToUint),
    Standard("double", kGlobal, "(double) double", Same),
    Standard("double", kGlobal, "(int) double", IntToDouble),
    Standard("double", kGlobal, "(string) double", StringToDouble),
    Standard("double", kGlobal, "(uint) double", UintToDouble),
    Standard("string", kGlobal, "(string) string", Same),
    Standard("string", kGlobal, "(bool) string", BoolToString),
    Standard("string", kGlobal, "(bytes) string", BytesToString, CostRule::kTraverse),
    Standard("string", kGlobal, "(double) string", DoubleToString),
    Standard("string", kGlobal, "(duration) string", DurationToString),
    Standard("string", kGlobal, "(int) string", IntToString),
    Standard("string", kGlobal, "(timestamp) string", TimeToString),
    Standard("string", kGlobal, "(uint) string", UintToString),
    Standard("bytes", kGlobal, "(bytes) bytes", Same),
    Standard("bytes", kGlobal, "(string) bytes", StringToBytes, CostRule::kTraverse),
    Standard("timestamp", kGlobal, "(timestamp) timestamp", Same),
    Standard("timestamp", kGlobal, "(int) timestamp", IntToTime),
    Standard("timestamp", kGlobal, "(string) timestamp", StringToTime),
    Standard("duration", kGlobal, "(duration) duration", Same),
    Standard("duration", kGlobal, "(int) duration", IntToDuration),
    Standard("duration", kGlobal, "(string) duration", StringToDuration),
    Standard("contains", kMethod, "(string, string) bool", Contains, CostRule::kContains),
    Standard("matches", kGlobal, "(string, string) bool", Matches, CostRule::kRegex),
    Standard("matches", kMethod, "(string, string) bool", Matches, CostRule::kRegex),
};

constexpr OverloadSpec kByText[]{
    Standard("endsWith", kMethod, "(string, string) bool", EndsWith, CostRule::kTraverse),
    Standard("startsWith", kMethod, "(string, string) bool", StartsWith, CostRule::kTraverse),
};
constexpr OverloadSpec kByPart[]{
    Standard("endsWith", kMethod, "(string, string) bool", EndsWith, CostRule::kTraverseSecond),
    Standard("startsWith", kMethod, "(string, string) bool", StartsWith, CostRule::kTraverseSecond),
};

}  // namespace

std::span<const OverloadSpec> StandardFunctions() { return kOverloads; }
std::span<const OverloadSpec> PrefixesUntil136() { return kByText; }
std::span<const OverloadSpec> Prefixes() { return kByPart; }

}  // namespace tessera::cel
