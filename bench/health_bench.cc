// How fast the kubelet is told of a sick GPU, and whether a storm of Xids delays Prepare. The plugin's own program, its
// real socket, stand-ins for API server and kubelet, simulated GPUs:
//
//   health_bench --plugin bin/tessera-kubelet-plugin --driver-root ROOT [--driver-root ROOT …] --result FILE
//
// The time of a signal includes what the simulator needs to play it. The floor, as in plugin_bench, shows what the storm
// costs everybody on the machine: playing it takes time too.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "bench/health_node.h"
#include "bench/plugin_load.h"
#include "bench/report.h"
#include "bench/xid_storm.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  PluginOptions plugin;            // Without its driver root.
  std::vector<fs::path> machines;  // Their driver roots.
  fs::path result = "health.json";
  std::size_t signals = 200;  // Of one kind; of those that wait for a reading, a fifth.
  std::size_t samples = 1600;
  std::size_t rounds = 8;
  std::size_t storm = 10'000;
};

constexpr std::chrono::milliseconds kSettle{500};  // Until a storm's Xids arrive, and until the last ones have.

HealthNode::Signal FatalXid() {
  return {.play = [](HealthNode& node, std::size_t gpu) { node.Xid(gpu, 79); }};
}

// How bad this Xid is the driver's advice decides, which is read after it.
HealthNode::Signal AdvisedXid() {
  const auto advise = [](HealthNode& node, std::size_t gpu, unsigned action) {
    node.Change(gpu, [&](sim::Gpu& sick) { sick.recovery_action = action; });
  };
  return {.play =
              [=](HealthNode& node, std::size_t gpu) {
                advise(node, gpu, 1);
                node.Xid(gpu, 48);
              },
          .heal = [=](HealthNode& node, std::size_t gpu) { advise(node, gpu, 0); },
          .spread = kHealthPeriod};
}

HealthNode::Signal EccCounter() {
  return {.play = [](HealthNode& node,
                     std::size_t gpu) { node.Change(gpu, [](sim::Gpu& sick) { ++sick.ecc.uncorrected_volatile; }); },
          .spread = kHealthPeriod};
}

void Progress(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

void MeasureSignal(HealthNode& node, const std::string& what, const std::string& where,
                   const HealthNode::Signal& signal, std::size_t count, std::vector<Measurement>& rows) {
  Progress(Format("measuring {} to stream, {}", what, where));
  Samples times;
  for (std::size_t i = 0; i < count; ++i) times.Add(node.Measure(signal, i % node.gpus()));
  rows.push_back({Format("{} to stream p50, {}", what, where), times.Percentile(50), "us"});
  rows.push_back({Format("{} to stream p99, {}", what, where), times.Percentile(99), "us"});
  rows.push_back({Format("{} to stream, longest, {}", what, where), times.Percentile(100), "us"});
}

void MeasureSignals(HealthNode& node, const std::string& where, const Options& options,
                    std::vector<Measurement>& rows) {
  const std::size_t few = std::max<std::size_t>(options.signals / 5, 1);
  MeasureSignal(node, "Xid 79", where, FatalXid(), options.signals, rows);
  MeasureSignal(node, "Xid 48 and advice", where, AdvisedXid(), few, rows);
  MeasureSignal(node, Format("ECC counter, {} s", kHealthPeriod.count()), where, EccCounter(), few, rows);
}

void AddPair(const std::string& call, const std::string& where, const Samples& quiet, const Samples& storm,
             std::vector<Measurement>& rows) {
  for (const int percent : {50, 99}) {
    rows.push_back({Format("{} p{} in the storm, {}", call, percent, where), storm.Percentile(percent), "us", "quiet",
                    quiet.Percentile(percent)});
  }
}

// Quiet rounds and rounds in the storm take turns, so that a noisy machine hurts both alike.
void MeasureStorm(HealthNode& node, const std::string& where, std::size_t callers, const Options& options,
                  std::vector<Measurement>& rows) {
  const std::string what = Format("{} caller{}, {}", callers, callers == 1 ? "" : "s", where);
  Progress("measuring Prepare in a storm, " + what);
  const Load load{.callers = callers, .admin_access = false, .samples = options.samples / options.rounds};
  std::vector<LoadTimes> quiet, storm;
  double played = 0, seconds = 0;
  const double before = node.SeenXids();
  for (std::size_t round = 0; round < options.rounds; ++round) {
    quiet.push_back(Measure(node.plugin(), load));
    XidStorm xids(node.store(), options.storm);
    std::this_thread::sleep_for(kSettle);
    storm.push_back(Measure(node.plugin(), load));
    const XidStorm::Total total = xids.End();
    played += total.xids;
    seconds += total.seconds;
    std::this_thread::sleep_for(kSettle);
  }
  const LoadTimes calm = Sum(quiet), noisy = Sum(storm);
  AddPair("Prepare", what, calm.prepare, noisy.prepare, rows);
  AddPair("Unprepare", what, calm.unprepare, noisy.unprepare, rows);
  AddPair("floor", what, calm.floor, noisy.floor, rows);
  rows.push_back({"Xids seen in the storm, " + what, (node.SeenXids() - before) / seconds, "a second", "played",
                  played / seconds});
}

void MeasureMachine(const fs::path& root, const Options& options, std::vector<Measurement>& rows) {
  PluginOptions plugin = options.plugin;
  plugin.driver_root = root;
  HealthNode node(std::move(plugin));
  const std::size_t devices = node.plugin().devices().size();
  const std::string where = Format("{} {}", devices, devices == node.gpus() ? "GPUs" : "MIG devices");
  MeasureSignals(node, where, options, rows);
  for (const std::size_t callers : {1, 8}) MeasureStorm(node, where, callers, options, rows);
}

void Run(const Options& options) {
  std::vector<Measurement> rows;
  for (const fs::path& root : options.machines) MeasureMachine(root, options, rows);
  Report(rows, options.result);
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  CLI::App app{"How fast a sick GPU is reported, and what a storm of Xids costs Prepare"};
  Options options;
  app.add_option("--plugin", options.plugin.program, "The program")->required()->check(CLI::ExistingFile);
  app.add_option("--driver-root", options.machines, "Simulated GPUs: tessera-sim create; each is a measurement")
      ->required()
      ->allow_extra_args(false)
      ->check(CLI::ExistingDirectory);
  app.add_option("--cdi-dir", options.plugin.cdi_dir, "Where CDI specs go; on a tmpfs, as on real nodes")
      ->check(CLI::ExistingDirectory);
  app.add_option("--result", options.result, "Where the numbers go, as JSON")->capture_default_str();
  app.add_option("--signals", options.signals, "Of one kind")->capture_default_str();
  app.add_option("--samples", options.samples, "Of Prepare, quiet and in the storm each")->capture_default_str();
  app.add_option("--rounds", options.rounds, "They are divided into")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--storm", options.storm, "Xids a second")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Run(options);
  return 0;
}
