#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/text.h"

namespace tessera::log {
namespace {

struct State {
  std::atomic<int> verbosity = 0;
  std::mutex mutex;  // Guards the rest, and keeps lines whole.
  Options options;
};

State& TheState() {
  static State state;
  return state;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// JSON and klog's text agree on how to write everything but strings.
std::string Scalar(const Field::Value& value, std::string (*quote)(std::string_view)) {
  return std::visit(
      [quote](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string_view>) {
          return quote(v);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>) {
          return std::isfinite(v) ? tessera::Format("{}", v) : quote(tessera::Format("{}", v));
        } else {
          return tessera::Format("{}", v);
        }
      },
      value);
}

std::string JsonQuote(std::string_view text) {
  std::string quoted;
  AppendJsonString(quoted, text);
  return quoted;
}

// Lmmdd hh:mm:ss.uuuuuu threadid file:line] "message" key="value"
std::string TextLine(char severity, std::chrono::system_clock::time_point now, const std::source_location& where,
                     std::string_view message, const std::vector<Field>& fields) {
  using namespace std::chrono;
  const auto day = floor<days>(now);
  const year_month_day date{day};
  const hh_mm_ss time{floor<microseconds>(now - day)};
  std::string line = tessera::Format(
      "{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}:{}] {}", severity, static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), time.hours().count(), time.minutes().count(), time.seconds().count(),
      time.subseconds().count(), ::gettid(), BaseName(where.file_name()), where.line(), Quote(message));
  for (const Field& field : fields) line += tessera::Format(" {}={}", field.key, Scalar(field.value, Quote));
  return line + '\n';
}

// {"ts":1580306777045.123,"caller":"file.cc:12","msg":"message","v":0,"key":"value"}, as Kubernetes components write.
std::string JsonLine(char severity, int level, std::chrono::system_clock::time_point now,
                     const std::source_location& where, std::string_view message, const std::vector<Field>& fields) {
  using namespace std::chrono;
  const auto micros = duration_cast<microseconds>(now.time_since_epoch()).count();
  std::string line = tessera::Format(R"({{"ts":{}.{:03},"caller":{},"msg":{})", micros / 1000, micros % 1000,
                                     JsonQuote(tessera::Format("{}:{}", BaseName(where.file_name()), where.line())),
                                     JsonQuote(message));
  if (severity == 'I') line += tessera::Format(R"(,"v":{})", level);
  if (severity == 'W') line += R"(,"severity":"warning")";
  for (const Field& field : fields) line += ',' + JsonQuote(field.key) + ':' + Scalar(field.value, JsonQuote);
  return line + "}\n";
}

void Write(char severity, int level, std::string_view message, const std::vector<Field>& fields,
           const std::source_location& where) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  const Clock& clock = state.options.clock != nullptr ? *state.options.clock : SystemClock();
  const std::string line = state.options.format == Format::kJson
                               ? JsonLine(severity, level, clock.Now(), where, message, fields)
                               : TextLine(severity, clock.Now(), where, message, fields);
  if (state.options.sink) {
    state.options.sink(line);
  } else {
    // A log that cannot be written has nowhere to complain, and must not stop the program.
    static_cast<void>(WriteAll(STDERR_FILENO, line).has_value());
  }
}

}  // namespace

void Configure(Options options) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.verbosity = options.verbosity;
  state.options = std::move(options);
}

bool V(int level) { return level <= TheState().verbosity.load(std::memory_order_relaxed); }

void Info(std::string_view message, Fields fields, std::source_location where) {
  Write('I', 0, message, fields, where);
}

void Verbose(int level, std::string_view message, Fields fields, std::source_location where) {
  if (V(level)) Write('I', level, message, fields, where);
}

void Warning(std::string_view message, Fields fields, std::source_location where) {
  Write('W', 0, message, fields, where);
}

void Failure(const Error& error, std::string_view message, Fields fields, std::source_location where) {
  const std::string text = error.Text();
  std::vector<Field> all{{"err", text}, {"code", error.code()}, {"kind", ToString(error.kind())}};
  all.insert(all.end(), fields.begin(), fields.end());
  Write('E', 0, message, all, where);
}

}  // namespace tessera::log
