#include "bench/plugin_cycles.h"

#include <cstdio>
#include <thread>

#include "bench/plugin_load.h"

namespace tessera::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kCallers = 4;
constexpr std::size_t kTenths = 10;
constexpr double kMostGrowth = 1.2;
constexpr std::chrono::seconds kSettle{5};  // For what is written late or kept a while.

struct Look {
  double resident_kib = 0;
  std::size_t descriptors = 0, threads = 0, cdi_files = 0, plugin_files = 0;
};

Look LookAt(PluginNode& node) {
  return {.resident_kib = ResidentKib(node.pid()),
          .descriptors = Descriptors(node.pid()),
          .threads = Threads(node.pid()),
          .cdi_files = FilesIn(node.setup().cdi_dir()),
          .plugin_files = FilesIn(node.setup().plugin_dir())};
}

void Print(std::size_t cycles, double seconds, const Look& look) {
  std::printf("%10zu %9.1f %10.0f %12zu %8zu %10zu %13zu\n", cycles, seconds, look.resident_kib, look.descriptors,
              look.threads, look.cdi_files, look.plugin_files);
  std::fflush(stdout);
}

void Cycle(PluginNode& node, std::vector<Caller>& callers, std::size_t count) {
  constexpr std::size_t kRound = 250;  // Claims of one caller that exist at the same time.
  while (count > 0) {
    const std::size_t each = std::min(kRound, (count + callers.size() - 1) / callers.size());
    const auto claims = node.MakeClaims(each * callers.size(), true);
    AllAtOnce(callers, [&](std::size_t i, Caller& caller) {
      for (std::size_t k = 0; k < each; ++k) {
        caller.Prepare(claims[i * each + k]);
        caller.Unprepare(claims[i * each + k]);
      }
    });
    node.DeleteClaims(claims);
    count -= std::min(count, claims.size());
  }
}

bool Check(bool holds, const char* promise) {
  if (!holds) std::printf("BROKEN: %s\n", promise);
  return holds;
}

}  // namespace

bool RunCycles(PluginNode& node, std::size_t cycles) {
  std::printf("%10s %9s %10s %12s %8s %10s %13s\n", "CYCLES", "SECONDS", "RSS KIB", "DESCRIPTORS", "THREADS",
              "CDI FILES", "PLUGIN FILES");
  UnprepareMany(node, PrepareMany(node, 1));  // What the first claim brings, such as the checkpoint, stays.
  std::this_thread::sleep_for(kSettle);
  const Look before = LookAt(node);
  Print(0, 0, before);
  const auto start = steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(steady_clock::now() - start).count(); };
  Look first_tenth, after;
  {
    std::vector<Caller> callers = node.Connect(kCallers);
    for (std::size_t tenth = 1; tenth <= kTenths; ++tenth) {
      Cycle(node, callers, cycles / kTenths);
      after = LookAt(node);
      if (tenth == 1) first_tenth = after;
      Print(tenth * (cycles / kTenths), seconds(), after);
    }
  }
  std::this_thread::sleep_for(kSettle);
  const Look settled = LookAt(node);
  Print(cycles, seconds(), settled);
  const bool flat = Check(after.resident_kib <= first_tenth.resident_kib * kMostGrowth, "memory stays flat");
  const bool closed = Check(settled.descriptors <= first_tenth.descriptors, "no descriptor is left");
  // Files that come once with the first claims, such as the history of health, stay; those of a claim do not.
  const bool clean = Check(settled.cdi_files <= before.cdi_files && settled.plugin_files <= first_tenth.plugin_files,
                           "no file is left");
  return flat && closed && clean;
}

}  // namespace tessera::bench
