// The process's own metrics, as every Prometheus client names them.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "metrics/registry.h"

namespace tessera::metrics {
namespace {

struct ProcessFacts {
  double cpu_seconds = 0, resident_bytes = 0, virtual_bytes = 0, threads = 0, start_seconds = 0;
};

std::optional<double> BootTime() {
  const auto text = ReadFile("/proc/stat");
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with("btime ")) return ParseNumber<std::int64_t>(line.substr(6));
  }
  return std::nullopt;
}

// Fields of proc(5) /proc/self/stat, counted from the state, which follows the program's name in parentheses.
std::optional<ProcessFacts> ReadProcess() {
  const auto text = ReadFile("/proc/self/stat");
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = Split(std::string_view(*text).substr(name_end + 2), ' ');
  if (fields.size() < 22) return std::nullopt;
  const auto number = [&](std::size_t field) {
    return static_cast<double>(ParseNumber<std::int64_t>(fields[field]).value_or(0));
  };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessFacts{.cpu_seconds = (number(11) + number(12)) / ticks,
                      .resident_bytes = number(21) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
                      .virtual_bytes = number(20),
                      .threads = number(17),
                      .start_seconds = BootTime().value_or(0) + number(19) / ticks};
}

double CountOpenFiles() {
  std::error_code error;
  double count = -1;  // The listing itself has one open.
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

void AddProcessMetrics(Registry& registry) {
  auto& cpu = registry.AddCounter("process_cpu_seconds_total", "User and system time spent, in seconds.");
  auto& resident = registry.AddGauge("process_resident_memory_bytes", "Resident memory.");
  auto& virt = registry.AddGauge("process_virtual_memory_bytes", "Virtual memory.");
  auto& threads = registry.AddGauge("process_threads", "Threads.");
  auto& start = registry.AddGauge("process_start_time_seconds", "Start of the process, in seconds since 1970.");
  auto& open = registry.AddGauge("process_open_fds", "Open file descriptors.");
  auto& most = registry.AddGauge("process_max_fds", "How many file descriptors may be open.");
  registry.OnPrint([&] {
    if (const auto facts = ReadProcess()) {
      (*cpu).Follow(facts->cpu_seconds);
      (*resident).Set(facts->resident_bytes);
      (*virt).Set(facts->virtual_bytes);
      (*threads).Set(facts->threads);
      (*start).Set(facts->start_seconds);
    }
    (*open).Set(CountOpenFiles());
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) (*most).Set(static_cast<double>(limit.rlim_cur));
  });
}

}  // namespace tessera::metrics
