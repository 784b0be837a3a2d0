#include "nvml/host.h"

#include <dlfcn.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "json/decode.h"
#include "nvml/api.h"
#include "nvml/locate.h"
#include "nvml/read.h"
#include "nvml/wire.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHostFlag = "--nvml-host";

abi::Return Initialise(const Api& api, Progress& progress) {
  // A machine whose GPUs are all bound to vfio-pci has none for NVML, and that is no failure.
  if (const auto init = api.Get<Fn::nvmlInitWithFlags>()) {
    const CallScope scope(progress, Fn::nvmlInitWithFlags);
    return init(abi::kInitNoGpus);
  }
  const CallScope scope(progress, Fn::nvmlInit_v2);
  return api.Get<Fn::nvmlInit_v2>()();
}

// The library that worked, kept loaded. NVML is initialised for each read and shut down after it: the list of GPUs is
// made at initialisation, so only that sees a GPU that was plugged in, and a driver that nobody uses can be unloaded.
class Library {
 public:
  Library(Api api, fs::path path) : api_(api), path_(std::move(path)) {}

  // Leaves NVML initialised when it succeeds: Finish() follows, after the answer is sent.
  Result<MachineFacts> Read(const std::vector<Avoid>& avoid, Progress& progress) {
    if (const abi::Return code = Initialise(api_, progress); code != abi::kSuccess) {
      return std::unexpected(InitError(code));
    }
    auto machine = ReadMachine(api_, avoid, progress);
    if (machine.has_value()) {
      machine->library = path_.string();
    } else {
      Finish(avoid, progress);
    }
    return machine;
  }

  // False when NVML cannot be shut down, because doing so hung before: then only the end of the process lets go of it.
  bool Finish(const std::vector<Avoid>& avoid, Progress& progress) {
    const auto shutdown = api_.Get<Fn::nvmlShutdown>();
    const auto is_shutdown = [](const Avoid& a) { return a.function == Name(Fn::nvmlShutdown); };
    if (shutdown == nullptr || std::ranges::any_of(avoid, is_shutdown)) return false;
    const CallScope scope(progress, Fn::nvmlShutdown);
    return shutdown() == abi::kSuccess;
  }

 private:
  Api api_;
  fs::path path_;
};

// Opens one candidate. Not there, not a library, or not NVML: why it does not count.
std::expected<Library, std::string> OpenLibrary(const fs::path& root, const fs::path& candidate) {
  fs::path path = candidate;
  if (candidate.is_absolute()) {
    const auto resolved = ResolveBelow(root, candidate);
    if (!resolved.has_value()) return std::unexpected("not there");
    path = *resolved;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::unexpected("not a file");
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    const std::string_view text = why != nullptr ? why : "cannot be loaded";
    // "PATH: invalid ELF header": the path is in our message already. The loader's search finding nothing is no answer.
    if (!candidate.is_absolute() && text.find("No such file") != std::string_view::npos) {
      return std::unexpected("not there");
    }
    const auto cut = Cut(text, path.string() + ": ");
    return std::unexpected(std::string(cut ? cut->second : text));
  }
  const Api api = Api::From(handle);
  if (api.Get<Fn::nvmlInit_v2>() == nullptr || api.Get<Fn::nvmlDeviceGetCount_v2>() == nullptr) {
    ::dlclose(handle);
    return std::unexpected("is not NVML: it lacks nvmlInit_v2 or nvmlDeviceGetCount_v2");
  }
  return Library(api, path);  // Never closed: real ones leave threads behind.
}

Result<MachineFacts> FindAndRead(const ReadRequest& request, std::optional<Library>& library, Progress& progress) {
  std::vector<fs::path> roots(request.driver_roots.begin(), request.driver_roots.end());
  std::vector<Attempt> attempts;
  std::optional<Error> init_error;  // A library that opens but does not initialise says more than "not found".
  for (const fs::path& root : roots) {
    for (const fs::path& candidate : Candidates(root)) {
      auto opened = OpenLibrary(root, candidate);
      if (!opened.has_value()) {
        attempts.push_back({candidate, opened.error()});
        continue;
      }
      auto machine = opened->Read(request.avoid, progress);
      if (machine.has_value()) {
        library.emplace(std::move(*opened));
        return machine;
      }
      attempts.push_back({candidate, machine.error().message()});
      if (!init_error) init_error = machine.error();
    }
  }
  const Error not_found = NotFound(roots, attempts);
  if (!init_error) return std::unexpected(not_found);
  return std::unexpected(Error(init_error->kind(), init_error->code(), not_found.message(), init_error->advice()));
}

Result<ReadRequest> ParseRequest(std::string_view message) {
  TESSERA_ASSIGN(const json::Value value, json::ParseJson(message));
  return json::Decode<ReadRequest>(value);
}

// From the library at hand; when that fails the driver may have been replaced, so from whichever is found now.
Result<MachineFacts> Read(const ReadRequest& request, std::optional<Library>& library, Progress& progress) {
  if (library) {
    if (auto facts = library->Read(request.avoid, progress); facts.has_value()) return facts;
    library.reset();
  }
  return FindAndRead(request, library, progress);
}

int Serve(Progress& progress, std::chrono::milliseconds idle) {
  Receiver receiver(kHostSocket);
  std::optional<Library> library;
  for (;;) {
    const auto message = receiver.Receive(idle);
    if (!message.has_value() || !message->has_value()) return 0;  // The agent is gone, or needs us no more.
    const auto request = ParseRequest(**message);
    const auto facts = request.has_value() ? Read(*request, library, progress) : std::unexpected(request.error());
    ReadAnswer answer;
    if (facts.has_value()) {
      answer.facts = *facts;
    } else {
      answer.error = ToWire(facts.error());
    }
    if (!SendMessage(kHostSocket, json::PrintJson(json::Encode(answer))).has_value()) return 0;
    if (facts.has_value() && !library->Finish(request->avoid, progress)) return 0;
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
