// nvidia-smi, as far as a container needs it to show which GPUs it got: a stand-in that asks the library.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "nvml/abi.h"

namespace tessera::sim {
namespace {

namespace abi = nvml::abi;
namespace fs = std::filesystem;

constexpr std::string_view kHelpText =
    "nvidia-smi: a stand-in of the Tessera simulator, not NVIDIA's program.\n"
    "\n"
    "usage: nvidia-smi [OPTION]\n"
    "\n"
    "  (no option)       a table of the GPUs\n"
    "  -L, --list-gpus   one line for each GPU and MIG device\n"
    "  --version         versions of the driver, of NVML and of CUDA\n"
    "  -h, --help        this text\n"
    "\n"
    "Exits with NVML's code when NVML fails (9: the driver is not loaded), with 2 for an unknown option.\n";

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The functions used here, looked up by name; one that the library lacks answers FUNCTION_NOT_FOUND.
class Library {
 public:
  // The library of this program's own driver root comes before what the loader would find.
  static std::optional<Library> Open();

  template <class... Args>
  abi::Return Call(const char* name, Args... args) const {
    auto* const function = reinterpret_cast<abi::Return (*)(Args...)>(::dlsym(handle_, name));
    return function == nullptr ? abi::kFunctionNotFound : function(args...);
  }
  std::string ErrorText(abi::Return code) const {
    auto* const function = reinterpret_cast<const char* (*)(abi::Return)>(::dlsym(handle_, "nvmlErrorString"));
    return function == nullptr ? Format("NVML error {}", code) : function(code);
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;  // Stays open: the process ends soon.
};

std::optional<Library> Library::Open() {
#if defined(__x86_64__)
  constexpr std::string_view kTriplet = "x86_64-linux-gnu";
#else
  constexpr std::string_view kTriplet = "aarch64-linux-gnu";
#endif
  std::error_code error;
  const fs::path usr = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  const std::string candidates[] = {Format("{}/lib/{}/libnvidia-ml.so.1", usr.string(), kTriplet),
                                    usr.string() + "/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.1"};
  for (const std::string& candidate : candidates) {
    if (void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle);
  }
  return std::nullopt;
}

// A text that NVML writes into a buffer, or nothing.
template <std::size_t kSize, class... Args>
std::optional<std::string> Text(const Library& nvml, const char* name, Args... args) {
  std::array<char, kSize> buffer{};
  if (nvml.Call(name, args..., buffer.data(), static_cast<unsigned>(kSize)) != abi::kSuccess) return std::nullopt;
  return std::string(buffer.data(), ::strnlen(buffer.data(), kSize));
}

std::string NameOf(const Library& nvml, abi::Device device) {
  return Text<abi::kNameSize>(nvml, "nvmlDeviceGetName", device).value_or("Unknown");
}

std::string UuidOf(const Library& nvml, abi::Device device) {
  return Text<abi::kUuidSize>(nvml, "nvmlDeviceGetUUID", device).value_or("Unknown");
}

std::optional<bool> MigMode(const Library& nvml, abi::Device device) {
  unsigned current = 0, pending = 0;
  if (nvml.Call("nvmlDeviceGetMigMode", device, &current, &pending) != abi::kSuccess) return std::nullopt;
  return current == 1;
}

// The profile's name from its numbers; the memory is a share of the board's in eighths, as drivers round it.
std::string ComputedProfile(const Library& nvml, abi::Device gpu, abi::Device mig) {
  abi::DeviceAttributes attributes{};
  abi::Memory memory{};
  if (nvml.Call("nvmlDeviceGetAttributes_v2", mig, &attributes) != abi::kSuccess ||
      nvml.Call("nvmlDeviceGetMemoryInfo", gpu, &memory) != abi::kSuccess || memory.total == 0) {
    return "Unknown";
  }
  const double share = static_cast<double>(attributes.memorySizeMB) * (1U << 20U) / static_cast<double>(memory.total);
  const auto board_gb = static_cast<double>((memory.total + (1ULL << 30U) - 1) >> 30U);
  const auto gb = std::llround(std::ceil(share * 8) / 8 * board_gb);
  const unsigned slices = attributes.gpuInstanceSliceCount, compute = attributes.computeInstanceSliceCount;
  const std::string whole = Format("{}g.{}gb", slices, gb);
  return compute == slices ? whole : Format("{}c.{}", compute, whole);
}

// "NVIDIA A100-SXM4-40GB MIG 3g.20gb" of a "NVIDIA A100-SXM4-40GB" is a 3g.20gb.
std::string ProfileOf(const Library& nvml, abi::Device gpu, abi::Device mig) {
  const std::string name = NameOf(nvml, mig), prefix = NameOf(nvml, gpu) + " MIG ";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : ComputedProfile(nvml, gpu, mig);
}

struct MigDevice {
  unsigned index;
  abi::Device handle;
};

std::vector<MigDevice> MigDevices(const Library& nvml, abi::Device gpu) {
  std::vector<MigDevice> devices;
  unsigned count = 0;
  if (!MigMode(nvml, gpu).value_or(false)) return devices;
  if (nvml.Call("nvmlDeviceGetMaxMigDeviceCount", gpu, &count) != abi::kSuccess) return devices;
  for (unsigned i = 0; i < count; ++i) {
    abi::Device handle = nullptr;
    if (nvml.Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, i, &handle) == abi::kSuccess)
      devices.push_back({i, handle});
  }
  return devices;
}

void PrintListed(const Library& nvml, unsigned index, abi::Device gpu) {
  Print(Format("GPU {}: {} (UUID: {})\n", index, NameOf(nvml, gpu), UuidOf(nvml, gpu)));
  for (const MigDevice& mig : MigDevices(nvml, gpu)) {
    Print(Format("  MIG {:<11} Device {:>2}: (UUID: {})\n", ProfileOf(nvml, gpu, mig.handle), mig.index,
                 UuidOf(nvml, mig.handle)));
  }
}

std::string MemoryText(const Library& nvml, abi::Device device) {
  abi::Memory memory{};
  if (nvml.Call("nvmlDeviceGetMemoryInfo", device, &memory) != abi::kSuccess) return "N/A";
  return Format("{}MiB / {}MiB", memory.used >> 20U, memory.total >> 20U);
}

std::string TemperatureText(const Library& nvml, abi::Device device) {
  unsigned degrees = 0;
  constexpr unsigned kGpuSensor = 0;
  if (nvml.Call("nvmlDeviceGetTemperature", device, kGpuSensor, &degrees) != abi::kSuccess) return "N/A";
  return Format("{}C", degrees);
}

std::string BusIdText(const Library& nvml, abi::Device device) {
  abi::PciInfo pci{};
  if (nvml.Call("nvmlDeviceGetPciInfo_v3", device, &pci) != abi::kSuccess) return "N/A";
  return std::string(pci.busId, ::strnlen(pci.busId, sizeof pci.busId));
}

std::string CudaText(const Library& nvml) {
  int version = 0;
  if (nvml.Call("nvmlSystemGetCudaDriverVersion", &version) != abi::kSuccess) return "N/A";
  return Format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string DriverText(const Library& nvml) {
  return Text<abi::kDriverVersionSize>(nvml, "nvmlSystemGetDriverVersion").value_or("N/A");
}

std::string Rule(char c) { return '+' + std::string(95, c) + "+\n"; }

void PrintTableHead(const Library& nvml) {
  const std::string versions = Format("Driver Version: {}", DriverText(nvml));
  Print(Rule('-') +
        Format("| {:<24}{:<44}{:>25} |\n", "Tessera simulator", versions, "CUDA Version: " + CudaText(nvml)) +
        Rule('-'));
  Print(
      Format("| {:>3}  {:<30} {:<17} {:>22} {:>5} {:>10} |\n", "GPU", "Name", "Bus-Id", "Memory-Usage", "Temp", "MIG") +
      Rule('='));
}

void PrintRow(const Library& nvml, unsigned index, abi::Device gpu) {
  const auto mig = MigMode(nvml, gpu);
  Print(Format("| {:>3}  {:<30.30} {:<17} {:>22} {:>5} {:>10} |\n", index, NameOf(nvml, gpu), BusIdText(nvml, gpu),
               MemoryText(nvml, gpu), TemperatureText(nvml, gpu), !mig ? "N/A" : (*mig ? "Enabled" : "Disabled")));
  for (const MigDevice& device : MigDevices(nvml, gpu)) {
    Print(Format("|      MIG {:<2} {:<23} {:<17} {:>22} {:>5} {:>10} |\n", device.index,
                 ProfileOf(nvml, gpu, device.handle), "", MemoryText(nvml, device.handle), "", ""));
  }
}

int Fail(std::string_view what, const Library& nvml, abi::Return code) {
  Print(Format("{}: {}\n", what, nvml.ErrorText(code)));
  return code > 255 ? 255 : code;
}

struct Listing {
  void (*head)(const Library&);
  void (*gpu)(const Library&, unsigned, abi::Device);
  void (*foot)();
};

int PrintGpus(const Library& nvml, const Listing& listing) {
  unsigned count = 0;
  if (const auto code = nvml.Call("nvmlDeviceGetCount_v2", &count); code != abi::kSuccess) {
    return Fail("Failed to count the GPUs", nvml, code);
  }
  if (count == 0) {
    Print("No devices were found\n");
    return abi::kNotFound;
  }
  listing.head(nvml);
  int exit = 0;
  for (unsigned i = 0; i < count; ++i) {
    abi::Device gpu = nullptr;
    const auto code = nvml.Call("nvmlDeviceGetHandleByIndex_v2", i, &gpu);
    if (code == abi::kSuccess) {
      listing.gpu(nvml, i, gpu);
    } else {
      exit = Fail(Format("Unable to get the device handle for GPU {}", i), nvml, code);
    }
  }
  listing.foot();
  return exit;
}

int PrintVersions(const Library& nvml) {
  const std::string driver = DriverText(nvml);
  Print(Format("NVIDIA-SMI version  : {} (Tessera simulator)\n", driver));
  Print(Format("NVML version        : {}\n",
               Text<abi::kNvmlVersionSize>(nvml, "nvmlSystemGetNVMLVersion").value_or("N/A")));
  Print(Format("DRIVER version      : {}\nCUDA Version        : {}\n", driver, CudaText(nvml)));
  return 0;
}

int PrintTable(const Library& nvml) {
  return PrintGpus(nvml, {.head = PrintTableHead, .gpu = PrintRow, .foot = [] { Print(Rule('-')); }});
}

int PrintList(const Library& nvml) {
  return PrintGpus(nvml, {.head = [](const Library&) {}, .gpu = PrintListed, .foot = [] {}});
}

int WithNvml(int (*action)(const Library&)) {
  const auto nvml = Library::Open();
  if (!nvml) {
    Print(Format("Failed to initialize NVML: no usable libnvidia-ml.so.1 ({})\n", ::dlerror()));
    return abi::kLibraryNotFound;
  }
  if (const auto code = nvml->Call("nvmlInit_v2"); code != abi::kSuccess) {
    return Fail("Failed to initialize NVML", *nvml, code);
  }
  const int exit = action(*nvml);
  nvml->Call("nvmlShutdown");
  return exit;
}

enum class Action { kTable, kList, kVersions, kHelp };

std::optional<Action> ParseOption(std::string_view text) {
  if (text == "-L" || text == "--list-gpus") return Action::kList;
  if (text == "--version") return Action::kVersions;
  if (text == "-h" || text == "--help") return Action::kHelp;
  return std::nullopt;
}

int Run(Action action) {
  switch (action) {
    case Action::kTable:
      return WithNvml(PrintTable);
    case Action::kList:
      return WithNvml(PrintList);
    case Action::kVersions:
      return WithNvml(PrintVersions);
    case Action::kHelp:
      Print(kHelpText);
      return 0;
  }
  return 0;
}

int Refuse(std::string_view what) {
  std::fputs(Format("nvidia-smi (Tessera simulator): {}; see --help\n", what).c_str(), stderr);
  return 2;
}

int Main(const std::vector<std::string_view>& arguments) {
  Action action = Action::kTable;
  for (const std::string_view argument : arguments) {
    const auto parsed = ParseOption(argument);
    if (!parsed) return Refuse(Format("unknown option {}", Quote(argument)));
    action = *parsed;
  }
  return arguments.size() > 1 ? Refuse("one option at a time") : Run(action);
}

}  // namespace
}  // namespace tessera::sim

int main(int argc, char** argv) {
  return tessera::sim::Main(std::vector<std::string_view>(argv + std::min(argc, 1), argv + argc));
}
