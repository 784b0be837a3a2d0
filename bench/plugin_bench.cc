// What the node plugin costs, over its real socket, on a node of stand-ins (API server over TLS, kubelet) with simulated
// GPUs:
//
//   plugin_bench --plugin bin/tessera-kubelet-plugin --driver-root ROOT --result FILE     latencies, start, memory
//   plugin_bench --plugin bin/tessera-kubelet-plugin --driver-root ROOT --cycles 100000   whether anything is left
//
// The floor is what no Prepare can do without: one GET of the claim, one append with fdatasync beside the journal, one
// empty gRPC call, by as many callers, in the same rounds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "bench/plugin_cycles.h"
#include "bench/plugin_load.h"
#include "bench/report.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  PluginOptions plugin;
  fs::path result = "plugin.json";
  std::size_t samples = 800;
  std::size_t claims = 1000;
  int starts = 11;
  std::size_t cycles = 0;
};

constexpr std::chrono::seconds kIdle{5};

void Progress(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

void MeasureStart(const Options& options, std::vector<Measurement>& rows) {
  Progress("starting the plugin");
  Samples published, registered;
  for (int i = 0; i < options.starts; ++i) {
    PluginNode node(options.plugin);
    const auto times = node.Start();
    published.Add(times.published);
    registered.Add(times.registered);
  }
  rows.push_back({"start to published slice, median", published.Percentile(50), "us"});
  rows.push_back({"start to registered, median", registered.Percentile(50), "us"});
}

void LookAtMemory(const PluginNode& node, const std::string& when, std::vector<Measurement>& rows) {
  rows.push_back({"resident memory, agent, " + when, ResidentKib(node.pid()), "KiB"});
  for (const pid_t child : Children(node.pid())) {
    rows.push_back({"resident memory, NVML host, " + when, ResidentKib(child), "KiB"});
  }
  rows.push_back({"threads of the agent, " + when, static_cast<double>(Threads(node.pid())), "threads"});
}

void AddLoad(const std::string& what, const LoadTimes& times, std::vector<Measurement>& rows) {
  for (const int percent : {50, 99}) {
    const auto at = [percent](const Samples& samples) { return samples.Percentile(percent); };
    const std::string disk_and_call = Format("sync {:.0f} + call {:.0f}", at(times.sync), at(times.call));
    rows.push_back({Format("Prepare p{}, {}", percent, what), at(times.prepare), "us",
                    Format("GET {:.0f} + {}", at(times.get), disk_and_call), at(times.floor)});
    rows.push_back({Format("Unprepare p{}, {}", percent, what), at(times.unprepare), "us", disk_and_call,
                    at(times.unprepare_floor)});
  }
}

void MeasureLoads(PluginNode& node, const Options& options, std::size_t prepared, std::vector<Measurement>& rows) {
  for (const bool admin_access : {false, true}) {
    for (const std::size_t callers : {1, 8, 32}) {
      if (!admin_access && callers > node.devices().size()) continue;
      const std::string what = Format("{} caller{}, {} prepared{}", callers, callers == 1 ? "" : "s", prepared,
                                      admin_access ? ", admin" : "");
      Progress("measuring " + what);
      AddLoad(what, Measure(node, {.callers = callers, .admin_access = admin_access, .samples = options.samples}),
              rows);
    }
  }
}

void Run(const Options& options) {
  std::vector<Measurement> rows;
  MeasureStart(options, rows);
  PluginNode node(options.plugin);
  node.Start();
  std::this_thread::sleep_for(kIdle);
  LookAtMemory(node, "idle", rows);
  MeasureLoads(node, options, 0, rows);
  const auto claims = PrepareMany(node, options.claims);
  MeasureLoads(node, options, claims.size(), rows);
  LookAtMemory(node, Format("{} prepared", claims.size()), rows);
  node.Stop();
  Samples registered;
  registered.Add(node.Start().registered);
  rows.push_back({Format("start to registered, {} prepared", claims.size()), registered.Percentile(50), "us"});
  UnprepareMany(node, claims);
  rows.push_back({"tessera-kubelet-plugin", static_cast<double>(fs::file_size(options.plugin.program)) / 1024, "KiB"});
  Report(rows, options.result);
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  CLI::App app{"What the node plugin costs"};
  Options options;
  app.add_option("--plugin", options.plugin.program, "The program")->required()->check(CLI::ExistingFile);
  app.add_option("--driver-root", options.plugin.driver_root, "Simulated GPUs: tessera-sim create")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--cdi-dir", options.plugin.cdi_dir, "Where CDI specs go; on a tmpfs, as on real nodes")
      ->check(CLI::ExistingDirectory);
  app.add_option("--flag", options.plugin.flags, "A further flag of the plugin")->allow_extra_args(false);
  app.add_option("--result", options.result, "Where the numbers go, as JSON")->capture_default_str();
  app.add_option("--samples", options.samples, "Of each kind")->capture_default_str();
  app.add_option("--claims", options.claims, "Prepared for the second half")->capture_default_str();
  app.add_option("--starts", options.starts, "How often the plugin is started")->capture_default_str();
  app.add_option("--cycles", options.cycles, "Instead: so many Prepares and Unprepares, and a look at what is left");
  CLI11_PARSE(app, argc, argv);
  if (options.cycles == 0) {
    Run(options);
    return 0;
  }
  PluginNode node(options.plugin);
  node.Start();
  return RunCycles(node, options.cycles) ? 0 : 1;
}
