#include "cel/number_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace tessera::cel {
namespace {

constexpr std::int64_t kNanosInSecond = 1'000'000'000;

std::optional<std::string> PrintSpecial(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return std::nullopt;
}

std::string ToChars(double value, std::chars_format format) {
  std::array<char, 400> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return {buffer.data(), end};
}

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array kUnits{Unit{"ns", 1},
                            Unit{"us", 1'000},
                            Unit{"\xC2\xB5s", 1'000},  // µ, the micro sign
                            Unit{"\xCE\xBCs", 1'000},  // μ, the Greek letter
                            Unit{"ms", 1'000'000},
                            Unit{"s", kNanosInSecond},
                            Unit{"m", 60 * kNanosInSecond},
                            Unit{"h", 3600 * kNanosInSecond}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeDigits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// One number with its unit, in nanoseconds.
std::optional<std::int64_t> TakeTerm(std::string_view& text) {
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::size_t length = 0;
  while (length < text.size() && text[length] != '.' && !IsDigit(text[length])) ++length;
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const auto number = whole.empty() ? std::optional<std::int64_t>(0) : ParseNumber<std::int64_t>(whole);
    std::int64_t nanos = 0;
    if (!number || __builtin_mul_overflow(*number, unit.nanos, &nanos)) return std::nullopt;
    double scale = static_cast<double>(unit.nanos);
    double rest = 0;
    for (const char digit : fraction.substr(0, 18)) rest += (digit - '0') * (scale /= 10);
    return __builtin_add_overflow(nanos, static_cast<std::int64_t>(rest + 1e-6), &nanos) ? std::nullopt
                                                                                         : std::optional(nanos);
  }
  return std::nullopt;
}

// Cuts a number of exactly `digits` digits and the character after it.
std::optional<int> TakeField(std::string_view& text, std::size_t digits, char after) {
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    if (!IsDigit(c)) return std::nullopt;
  }
  const auto number = ParseNumber<int>(text.substr(0, digits));
  text.remove_prefix(digits);
  if (after == '\0') return number;
  if (!text.starts_with(after)) return std::nullopt;
  text.remove_prefix(1);
  return number;
}

std::optional<std::int32_t> TakeNanos(std::string_view& text) {
  if (!text.starts_with('.')) return 0;
  text.remove_prefix(1);
  const std::string_view digits = TakeDigits(text);
  if (digits.empty()) return std::nullopt;
  std::int32_t nanos = 0;
  for (std::size_t i = 0; i < 9; ++i) nanos = nanos * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return nanos;
}

// "Z" or "+01:30", in seconds.
std::optional<std::int64_t> TakeOffset(std::string_view& text) {
  if (text == "Z" || text == "z") {
    text = {};
    return 0;
  }
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = TakeField(text, 2, ':');
  const auto minutes = hours ? TakeField(text, 2, '\0') : std::nullopt;
  if (!minutes || *hours > 24 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::string PrintDouble(double value) {
  if (auto special = PrintSpecial(value)) return *special;
  const std::string scientific = ToChars(value, std::chars_format::scientific);
  const auto exponent = ParseNumber<int>(scientific.substr(scientific.find('e') + (scientific.contains("e+") ? 2 : 1)));
  return *exponent < -4 || *exponent >= 6 ? scientific : ToChars(value, std::chars_format::fixed);
}

std::string PrintFixed(double value, int digits) {
  if (auto special = PrintSpecial(value)) return *special;
  return digits < 0 ? ToChars(value, std::chars_format::fixed) : Format("{:.{}f}", value, digits);
}

std::optional<double> ParseDouble(std::string_view text) {
  const std::string lower = Lower(text);
  std::string_view rest = lower;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  if (rest == "inf" || rest == "infinity") {
    value = HUGE_VAL;
  } else if (rest == "nan") {
    value = NAN;
  } else {
    if (rest.empty() || rest.starts_with('-')) return std::nullopt;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc::invalid_argument || end != rest.data() + rest.size()) return std::nullopt;
    // What is too small is 0, what is too large is no number.
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(rest).c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
  }
  return negative ? -value : value;
}

std::string PrintDuration(std::int64_t nanos) {
  const std::int64_t whole = nanos / kNanosInSecond;
  const auto rest = static_cast<double>(nanos % kNanosInSecond) / 1e9;
  return PrintFixed(static_cast<double>(whole) + rest, -1) + "s";
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    const auto term = TakeTerm(text);
    if (!term || __builtin_add_overflow(total, *term, &total)) return std::nullopt;
  }
  return negative ? -total : total;
}

std::string PrintTime(const Timestamp& time) {
  using std::chrono::sys_seconds;
  const sys_seconds at{std::chrono::seconds(time.seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  std::string fraction = time.nanos == 0 ? "" : Format(".{:09}", time.nanos);
  while (fraction.ends_with('0')) fraction.pop_back();
  return Format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                clock.minutes().count(), clock.seconds().count(), fraction);
}

std::optional<Timestamp> ParseTime(std::string_view text) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  const auto y = TakeField(text, 4, '-');
  const auto m = y ? TakeField(text, 2, '-') : std::nullopt;
  const auto d = m ? TakeField(text, 2, 'T') : std::nullopt;
  const auto hour = d ? TakeField(text, 2, ':') : std::nullopt;
  const auto minute = hour ? TakeField(text, 2, ':') : std::nullopt;
  const auto second = minute ? TakeField(text, 2, '\0') : std::nullopt;
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const std::chrono::year_month_day date{year(*y), month(static_cast<unsigned>(*m)), day(static_cast<unsigned>(*d))};
  const auto nanos = TakeNanos(text);
  const auto offset = nanos ? TakeOffset(text) : std::nullopt;
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t in_day = std::int64_t{*hour} * 3600 + std::int64_t{*minute} * 60 + *second;
  return Timestamp{days * 86400 + in_day - *offset, *nanos};
}

}  // namespace tessera::cel
