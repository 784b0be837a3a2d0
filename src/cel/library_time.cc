// What timestamps and durations tell about themselves.
#include <chrono>

#include "base/text.h"
#include "cel/context.h"
#include "cel/library.h"
#include "cel/time_zone.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

struct Calendar {
  std::chrono::year_month_day date;
  std::chrono::sys_days day;
  std::chrono::hh_mm_ss<std::chrono::seconds> clock;
};

using Part = std::int64_t (*)(const Calendar&);

// The part of a timestamp, in UTC or in the zone that the second argument names.
template <Part part>
Value Get(Context& context, Arguments a) {
  std::int64_t seconds = a[0].AsTime().seconds;
  if (a.size() == 2) {
    const auto offset = ZoneOffset(a[1].AsText(), seconds);
    if (!offset) return context.Error(Format("unknown time zone {}", a[1].AsText()));
    seconds += *offset;
  }
  const std::chrono::sys_seconds at{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  return Value::Int(part({std::chrono::year_month_day(day), day, std::chrono::hh_mm_ss(at - day)}));
}

std::int64_t Year(const Calendar& c) { return static_cast<int>(c.date.year()); }
std::int64_t Month(const Calendar& c) { return static_cast<unsigned>(c.date.month()) - std::int64_t{1}; }
std::int64_t Date(const Calendar& c) { return static_cast<unsigned>(c.date.day()); }
std::int64_t DayOfMonth(const Calendar& c) { return Date(c) - 1; }
std::int64_t DayOfWeek(const Calendar& c) { return std::chrono::weekday(c.day).c_encoding(); }
std::int64_t DayOfYear(const Calendar& c) {
  return (c.day - std::chrono::sys_days(c.date.year() / std::chrono::January / 1)).count();
}
std::int64_t Hours(const Calendar& c) { return c.clock.hours().count(); }
std::int64_t Minutes(const Calendar& c) { return c.clock.minutes().count(); }
std::int64_t Seconds(const Calendar& c) { return c.clock.seconds().count(); }

Value TimeMilliseconds(Context& context, Arguments a) {
  if (a.size() == 2 && !ZoneOffset(a[1].AsText(), 0)) {
    return context.Error(Format("unknown time zone {}", a[1].AsText()));
  }
  return Value::Int(a[0].AsTime().nanos / 1'000'000);
}

// Totals, truncated. cel-spec wants getMilliseconds() to leave the seconds out; cel-go, and so Kubernetes, does not.
template <std::int64_t nanos>
Value Total(Context& /*context*/, Arguments a) {
  return Value::Int(a[0].AsNanos() / nanos);
}

constexpr auto kMethod = Style::kMethod;
constexpr std::string_view kTime = "(timestamp) int";
constexpr std::string_view kTimeInZone = "(timestamp, string) int";
constexpr std::string_view kDuration = "(duration) int";

constexpr OverloadSpec kOverloads[]{
    {"getFullYear", kMethod, kTime, Get<Year>, CostRule::kOne, true},
    {"getFullYear", kMethod, kTimeInZone, Get<Year>, CostRule::kOne, true},
    {"getMonth", kMethod, kTime, Get<Month>, CostRule::kOne, true},
    {"getMonth", kMethod, kTimeInZone, Get<Month>, CostRule::kOne, true},
    {"getDate", kMethod, kTime, Get<Date>, CostRule::kOne, true},
    {"getDate", kMethod, kTimeInZone, Get<Date>, CostRule::kOne, true},
    {"getDayOfMonth", kMethod, kTime, Get<DayOfMonth>, CostRule::kOne, true},
    {"getDayOfMonth", kMethod, kTimeInZone, Get<DayOfMonth>, CostRule::kOne, true},
    {"getDayOfWeek", kMethod, kTime, Get<DayOfWeek>, CostRule::kOne, true},
    {"getDayOfWeek", kMethod, kTimeInZone, Get<DayOfWeek>, CostRule::kOne, true},
    {"getDayOfYear", kMethod, kTime, Get<DayOfYear>, CostRule::kOne, true},
    {"getDayOfYear", kMethod, kTimeInZone, Get<DayOfYear>, CostRule::kOne, true},
    {"getHours", kMethod, kTime, Get<Hours>, CostRule::kOne, true},
    {"getHours", kMethod, kTimeInZone, Get<Hours>, CostRule::kOne, true},
    {"getHours", kMethod, kDuration, Total<3'600'000'000'000>, CostRule::kOne, true},
    {"getMinutes", kMethod, kTime, Get<Minutes>, CostRule::kOne, true},
    {"getMinutes", kMethod, kTimeInZone, Get<Minutes>, CostRule::kOne, true},
    {"getMinutes", kMethod, kDuration, Total<60'000'000'000>, CostRule::kOne, true},
    {"getSeconds", kMethod, kTime, Get<Seconds>, CostRule::kOne, true},
    {"getSeconds", kMethod, kTimeInZone, Get<Seconds>, CostRule::kOne, true},
    {"getSeconds", kMethod, kDuration, Total<1'000'000'000>, CostRule::kOne, true},
    {"getMilliseconds", kMethod, kTime, TimeMilliseconds, CostRule::kOne, true},
    {"getMilliseconds", kMethod, kTimeInZone, TimeMilliseconds, CostRule::kOne, true},
    {"getMilliseconds", kMethod, kDuration, Total<1'000'000>, CostRule::kOne, true},
};

}  // namespace

std::span<const OverloadSpec> TimeFunctions() { return kOverloads; }

}  // namespace tessera::cel
