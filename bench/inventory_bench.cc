// What an inventory costs: `inventory_bench DRIVER_ROOT RESULT_FILE`.
//
// A cold start is a new NVML host, the library loaded and initialised in it, and all GPUs read; a rescan asks the host
// that is there. The floor is the same reading inside one process, plus starting an empty program: what no design with a
// child process can beat.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "base/fd.h"
#include "base/text.h"
#include "bench/process.h"
#include "bench/report.h"
#include "device/inventory.h"
#include "nvml/api.h"
#include "nvml/host.h"
#include "nvml/hosted_library.h"
#include "nvml/locate.h"
#include "nvml/read.h"

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

// Counts what the agent's side allocates.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;
constexpr int kRounds = 101;

double MedianMicros(int rounds, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds) / 2];
}

void SpawnEmptyProgram() {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, "/bin/true", nullptr, nullptr, argv, environ) != 0) Abort("cannot start /bin/true");
  ::waitpid(pid, nullptr, 0);
}

// The same NVML calls without a child process.
void ReadInProcess(const fs::path& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) Abort(::dlerror());
  const nvml::Api api = nvml::Api::From(handle);
  if (api.Get<nvml::Fn::nvmlInitWithFlags>()(nvml::abi::kInitNoGpus) != 0) Abort("nvmlInit failed");
  nvml::Progress progress;
  if (!nvml::ReadMachine(api, {}, progress).has_value()) Abort("reading failed");
  api.Get<nvml::Fn::nvmlShutdown>()();
  ::dlclose(handle);
}

int Run(const fs::path& root, const std::string& result_file) {
  nvml::HostedLibrary library({.driver_roots = {root}});
  device::Inventory inventory(library, root / "sys");
  const auto scan = [&] {
    if (const auto result = inventory.Rescan(); !result.has_value()) Abort(result.error().Text());
  };
  scan();
  const std::string library_path = library.Read().value().library;
  const double agent_kib = ResidentKib(::getpid());
  const double host_kib = ResidentKib(library.host_pid());

  const double rescan = MedianMicros(kRounds, scan);
  allocations = 0;
  scan();
  const auto rescan_allocations = static_cast<double>(allocations.load());
  const double cold = MedianMicros(kRounds, [&] {
    library.Release();
    scan();
  });
  library.Release();
  allocations = 0;
  scan();
  const auto cold_allocations = static_cast<double>(allocations.load());
  library.Release();
  const double in_process = MedianMicros(kRounds, [&] { ReadInProcess(library_path); });
  const double spawn = MedianMicros(kRounds, SpawnEmptyProgram);

  Report({{"inventory, cold start", cold, "us", "read in one process + an empty program", in_process + spawn},
          {"inventory, rescan", rescan, "us", "read in one process", in_process},
          {"allocations of a cold start (agent)", cold_allocations, "allocations"},
          {"allocations of a rescan (agent)", rescan_allocations, "allocations"},
          {"resident memory, agent", agent_kib, "KiB"},
          {"resident memory, NVML host", host_kib, "KiB"}},
         result_file);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  if (argc != 3) {
    std::fprintf(stderr, "usage: inventory_bench DRIVER_ROOT RESULT_FILE\n");
    return 2;
  }
  return tessera::bench::Run(argv[1], argv[2]);
}
