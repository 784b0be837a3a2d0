// tessera-watch: watches the GPUs of a machine with a real NVIDIA driver for a while, and prints what was seen and what
// it cost, as JSON.
//
//   make && build/release/bin/tessera-watch --seconds 480
//
// Changes nothing about the GPUs. Exit status: 0 something was read, 1 nothing was, 2 wrong usage.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "nvml/host.h"
#include "nvml/watcher.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a process has cost since it was started.
struct Cost {
  std::int64_t cpu_ms = 0;
  std::int64_t wakeups = 0;  // Voluntary context switches of all its threads.
  std::int64_t rss_kib = 0;
  std::int64_t threads = 0;
};
template <class F>
void Describe(F& f, Cost& c) {
  f.Required("cpuMs", c.cpu_ms);
  f.Required("wakeups", c.wakeups);
  f.Required("rssKib", c.rss_kib);
  f.Required("threads", c.threads);
}

// A number of a /proc/…/status file, such as "VmRSS".
std::int64_t StatusNumber(const fs::path& file, std::string_view name) {
  const std::string status = ReadFile(file).value_or("");
  for (const std::string_view line : Split(status, '\n')) {
    const auto pair = Cut(line, ":");
    if (!pair || pair->first != name) continue;
    const std::string_view value = Trim(pair->second);
    return ParseNumber<std::int64_t>(value.substr(0, value.find(' '))).value_or(0);
  }
  return 0;
}

Cost CostOf(int pid) {
  const fs::path process = Format("/proc/{}", pid);
  Cost cost;
  cost.rss_kib = StatusNumber(process / "status", "VmRSS");
  std::error_code failed;
  for (const auto& thread : fs::directory_iterator(process / "task", failed)) {
    ++cost.threads;
    cost.wakeups += StatusNumber(thread.path() / "status", "voluntary_ctxt_switches");
  }
  // After the name in parentheses: state is the first field, user and system time are the 12th and 13th.
  const std::string stat = ReadFile(process / "stat").value_or("");
  const auto fields = Split(std::string_view(stat).substr(std::min(stat.rfind(')') + 2, stat.size())), ' ');
  for (std::size_t i = 11; i < 13 && i < fields.size(); ++i) {
    cost.cpu_ms += ParseNumber<std::int64_t>(fields[i]).value_or(0) * 1000 / ::sysconf(_SC_CLK_TCK);
  }
  return cost;
}

Cost Difference(const Cost& now, const Cost& before) {
  return {now.cpu_ms - before.cpu_ms, now.wakeups - before.wakeups, now.rss_kib, now.threads};
}

struct Summary {
  std::int64_t seconds = 0, readings = 0, hosts = 0;
  std::optional<nvml::MachineVitals> first, last;
  std::map<std::string, std::int64_t> slowdown_reasons;  // By NVML's bits: in how many readings of a GPU.
  std::map<std::string, std::int64_t> pcie_links;        // "gen 5 x16".
  unsigned temperature_max = 0;
  std::vector<nvml::GpuEvent> events;
  std::uint64_t dropped = 0;
  std::map<std::string, std::int64_t> errors;
  Cost agent, host;  // Between the first reading and the last; of the last host.
};
template <class F>
void Describe(F& f, Summary& s) {
  f.Required("seconds", s.seconds);
  f.Required("readings", s.readings);
  f.Required("hosts", s.hosts);
  f.Optional("first", s.first);
  f.Optional("last", s.last);
  f.Required("slowdownReasons", s.slowdown_reasons);
  f.Required("pcieLinks", s.pcie_links);
  f.Required("temperatureMax", s.temperature_max);
  f.Required("events", s.events);
  f.Required("dropped", s.dropped);
  f.Required("errors", s.errors);
  f.Required("agent", s.agent);
  f.Required("host", s.host);
}

void Count(const nvml::MachineVitals& vitals, Summary& summary) {
  ++summary.readings;
  for (const nvml::GpuVitals& gpu : vitals.gpus) {
    if (gpu.slowdown_reasons) ++summary.slowdown_reasons[Format("{:#x}", *gpu.slowdown_reasons)];
    ++summary.pcie_links[Format("gen {} x{}", gpu.pcie_generation.value_or(0), gpu.pcie_width.value_or(0))];
    summary.temperature_max = std::max(summary.temperature_max, gpu.temperature.value_or(0));
  }
  if (!summary.first) summary.first = vitals;
  summary.last = vitals;
}

Summary Watch(const nvml::WatchOptions& options, std::chrono::seconds time) {
  constexpr std::size_t kMostEvents = 1'000;
  Summary summary{.seconds = time.count()};
  nvml::Watcher watcher(options);
  int host = 0;
  Cost agent_before, host_before;
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end) {
    const auto seen = watcher.Next(end);
    if (!seen.has_value()) ++summary.errors[seen.error().Text()];
    if (!seen.has_value() || !*seen) continue;
    for (const nvml::GpuEvent& event : (*seen)->events) {
      if (summary.events.size() < kMostEvents) summary.events.push_back(event);
    }
    summary.dropped += (*seen)->dropped;
    if (!(*seen)->vitals) continue;
    Count(*(*seen)->vitals, summary);
    if (const int pid = watcher.host_pid(); pid != host) {
      host = pid;
      ++summary.hosts;
      host_before = CostOf(host);
      if (summary.hosts == 1) agent_before = CostOf(::getpid());
    }
  }
  summary.agent = Difference(CostOf(::getpid()), agent_before);
  summary.host = Difference(CostOf(host), host_before);
  return summary;
}

int Run(int argc, char** argv) {
  CLI::App app("Watches the GPUs of this machine, and prints what was seen and what it cost.", "tessera-watch");
  unsigned seconds = 60;
  unsigned period_ms = 5'000;
  std::vector<std::string> roots;
  app.add_option("--seconds", seconds, "How long")->capture_default_str()->check(CLI::Range(1U, 86'400U));
  app.add_option("--period-ms", period_ms, "Between two readings")->capture_default_str();
  app.add_option("--driver-root", roots, "Where the driver is; without it the usual places")->type_name("DIR");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  nvml::WatchOptions options;
  options.host.driver_roots.assign(roots.begin(), roots.end());
  options.period = milliseconds(period_ms);
  const Summary summary = Watch(options, std::chrono::seconds(seconds));
  std::puts(json::PrintJson(json::Encode(summary), 2).c_str());
  return summary.readings > 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  return tessera::Run(argc, argv);
}
