#include "nvml/host.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text.h"
#include "json/decode.h"
#include "nvml/library.h"
#include "nvml/read.h"
#include "nvml/watch.h"
#include "nvml/wire.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHostFlag = "--nvml-host";

// NVML is initialised for each read and shut down after it: the list of GPUs is made at initialisation, so only that
// sees a GPU that was plugged in, and a driver that nobody uses can be unloaded. It is left initialised when this
// succeeds: the shut-down follows after the answer is sent.
Result<MachineFacts> ReadThrough(const Library& library, const std::vector<Avoid>& avoid, Progress& progress) {
  TESSERA_TRY(library.Initialise(progress));
  auto machine = ReadMachine(library.api(), avoid, progress);
  if (machine.has_value()) {
    machine->library = library.path().string();
  } else {
    library.ShutDown(avoid, progress);
  }
  return machine;
}

// From the library at hand; when that fails the driver may have been replaced, so from whichever is found now.
Result<MachineFacts> Read(const HostRequest& request, std::optional<Library>& library, Progress& progress) {
  if (library) {
    if (auto facts = ReadThrough(*library, request.avoid, progress); facts.has_value()) return facts;
    library.reset();
  }
  MachineFacts facts;
  const auto serve = [&](const Library& candidate) -> Result<void> {
    TESSERA_ASSIGN(facts, ReadThrough(candidate, request.avoid, progress));
    return {};
  };
  const std::vector<fs::path> roots(request.driver_roots.begin(), request.driver_roots.end());
  TESSERA_ASSIGN(Library found, FindLibrary(roots, serve));
  library.emplace(std::move(found));
  return facts;
}

int Serve(Progress& progress, std::chrono::milliseconds idle) {
  Receiver receiver(kHostSocket);
  std::optional<Library> library;
  for (;;) {
    const auto message = receiver.Receive(idle);
    if (!message.has_value() || !message->has_value()) return 0;  // The agent is gone, or needs us no more.
    const auto request = ParseRequest(**message);
    if (request.has_value() && request->watch_period_ms) return Watch(*request, receiver, progress);
    const auto facts = request.has_value() ? Read(*request, library, progress) : std::unexpected(request.error());
    ReadAnswer answer;
    if (facts.has_value()) {
      answer.facts = *facts;
    } else {
      answer.error = ToWire(facts.error());
    }
    if (!SendMessage(kHostSocket, json::PrintJson(json::Encode(answer))).has_value()) return 0;
    if (facts.has_value() && !library->ShutDown(request->avoid, progress)) return 0;
  }
}

int RunHost(int parent_pid, std::chrono::milliseconds idle) {
  // Closing the socket ends a host that listens; this ends one that hangs inside the driver.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_pid) return 1;
  ::prctl(PR_SET_NAME, "nvml-host");
  ::close_range(kHostPage + 1, ~0U, 0);
  void* page = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, kHostPage, 0);
  if (page == MAP_FAILED) return 1;
  return Serve(*static_cast<Progress*>(page), idle);
}

}  // namespace

std::vector<std::string> HostArguments(int parent_pid, std::chrono::milliseconds idle) {
  return {"tessera-nvml-host", std::string(kHostFlag), std::to_string(parent_pid), std::to_string(idle.count())};
}

std::optional<int> RunHostIfAsked(int argc, char** argv) {
  if (argc != 4 || argv[1] != kHostFlag) return std::nullopt;
  const auto parent = ParseNumber<int>(argv[2]);
  const auto idle = ParseNumber<int>(argv[3]);
  if (!parent || !idle) return 2;
  // Leaves without running destructors: the driver's threads may still use what they would free.
  ::_exit(RunHost(*parent, std::chrono::milliseconds(*idle)));
}

}  // namespace tessera::nvml
