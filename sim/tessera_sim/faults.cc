#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "nvml/abi.h"
#include "sim/symbols.h"
#include "sim/tessera_sim/commands.h"

namespace tessera::sim::command {
namespace {

namespace abi = nvml::abi;

struct Code {
  std::string_view name;
  int number;
};
constexpr std::array kCodes{
    Code{"UNINITIALIZED", abi::kUninitialized},
    Code{"INVALID_ARGUMENT", abi::kInvalidArgument},
    Code{"NOT_SUPPORTED", abi::kNotSupported},
    Code{"NO_PERMISSION", abi::kNoPermission},
    Code{"ALREADY_INITIALIZED", abi::kAlreadyInitialized},
    Code{"NOT_FOUND", abi::kNotFound},
    Code{"INSUFFICIENT_SIZE", abi::kInsufficientSize},
    Code{"INSUFFICIENT_POWER", abi::kInsufficientPower},
    Code{"DRIVER_NOT_LOADED", abi::kDriverNotLoaded},
    Code{"TIMEOUT", abi::kTimeout},
    Code{"IRQ_ISSUE", abi::kIrqIssue},
    Code{"LIBRARY_NOT_FOUND", abi::kLibraryNotFound},
    Code{"FUNCTION_NOT_FOUND", abi::kFunctionNotFound},
    Code{"CORRUPTED_INFOROM", abi::kCorruptedInforom},
    Code{"GPU_IS_LOST", abi::kGpuIsLost},
    Code{"RESET_REQUIRED", abi::kResetRequired},
    Code{"OPERATING_SYSTEM", abi::kOperatingSystem},
    Code{"LIB_RM_VERSION_MISMATCH", abi::kLibRmVersionMismatch},
    Code{"IN_USE", abi::kInUse},
    Code{"MEMORY", abi::kMemory},
    Code{"NO_DATA", abi::kNoData},
    Code{"VGPU_ECC_NOT_SUPPORTED", abi::kVgpuEccNotSupported},
    Code{"INSUFFICIENT_RESOURCES", abi::kInsufficientResources},
    Code{"FREQ_NOT_SUPPORTED", abi::kFreqNotSupported},
    Code{"ARGUMENT_VERSION_MISMATCH", abi::kArgumentVersionMismatch},
    Code{"DEPRECATED", abi::kDeprecated},
    Code{"NOT_READY", abi::kNotReady},
    Code{"GPU_NOT_FOUND", abi::kGpuNotFound},
    Code{"INVALID_STATE", abi::kInvalidState},
    Code{"RESET_TYPE_NOT_SUPPORTED", abi::kResetTypeNotSupported},
    Code{"UNKNOWN", abi::kUnknown},
};

// "15", "GPU_IS_LOST", "NVML_ERROR_GPU_IS_LOST", in any case.
Result<int> ParseCode(std::string_view text) {
  if (const auto number = ParseNumber<int>(text); number && *number > 0) return *number;
  std::string name(text);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (name.starts_with("NVML_ERROR_")) name.erase(0, 11);
  std::vector<std::string_view> known;
  for (const Code& code : kCodes) {
    if (code.name == name) return code.number;
    known.push_back(code.name);
  }
  const auto near = NearMatch(name, known);
  return BadConfig("NoSuchCode", Format("{} is no NVML return code", Quote(text)),
                   near ? Format("did you mean {}?", *near) : "write a number from 1, or a name such as GPU_IS_LOST");
}

std::string CodeName(int number) {
  const auto found = std::ranges::find(kCodes, number, &Code::number);
  return found == kCodes.end() ? Format("{}", number) : Format("{} ({})", number, found->name);
}

Result<void> CheckFunction(const std::string& name) {
  if (name == "*") return {};
  std::vector<std::string_view> known;
  for (const Symbol& symbol : AllSymbols()) {
    if (symbol.name == name) return {};
    known.push_back(symbol.name);
  }
  const auto near = NearMatch(name, known);
  return BadConfig("NoSuchFunction", Format("NVML has no function {}", Quote(name)),
                   near ? Format("did you mean {}?", *near) : "write its full name, or * for all");
}

std::string Line(const Fault& fault) {
  std::string text = fault.function;
  if (fault.minor) text += Format(" on GPU {}", *fault.minor);
  text += ":";
  if (fault.hang_ms > 0) text += Format(" hangs {} ms;", fault.hang_ms);
  if (fault.crash) text += " crashes;";
  if (fault.garbage) text += " answers garbage;";
  if (fault.code != 0) text += Format(" returns {};", CodeName(fault.code));
  return text + (fault.remaining < 0 ? " until cleared\n" : Format(" for {} more calls\n", fault.remaining));
}

Result<Fault> MakeFault(const FaultOptions& options) {
  TESSERA_TRY(CheckFunction(options.function));
  Fault fault;
  fault.function = options.function;
  if (!options.code.empty()) {
    TESSERA_ASSIGN(fault.code, ParseCode(options.code));
  }
  fault.remaining = options.count;
  fault.hang_ms = static_cast<unsigned>(std::lround(options.hang_seconds * 1000));
  fault.crash = options.crash;
  fault.garbage = options.garbage;
  if (fault.code == 0 && fault.hang_ms == 0 && !fault.crash && !fault.garbage) {
    return BadConfig("NoFault", "this fault would do nothing", "add --code, --hang, --crash or --garbage");
  }
  return fault;
}

}  // namespace

Output AddFault(const Path& root, const FaultOptions& options) {
  TESSERA_ASSIGN(Fault fault, MakeFault(options));
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine) -> Result<void> {
    if (!options.gpu.empty()) {
      TESSERA_ASSIGN(const Gpu* gpu, FindGpu(machine, options.gpu));
      fault.minor = gpu->minor;
    }
    machine.faults.push_back(fault);
    return {};
  };
  TESSERA_TRY(store->Update(change));
  return Line(fault);
}

Output ListFaults(const Path& root) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const auto machine, store->Read());
  std::string text;
  for (const Fault& fault : machine->faults) text += Line(fault);
  return text.empty() ? "no faults\n" : text;
}

Output ClearFaults(const Path& root, const std::string& function) {
  if (!function.empty()) TESSERA_TRY(CheckFunction(function));
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  std::size_t cleared = 0;
  const auto change = [&](Machine& machine) -> Result<void> {
    cleared = std::erase_if(machine.faults, [&](const Fault& f) { return function.empty() || f.function == function; });
    return {};
  };
  TESSERA_TRY(store->Update(change));
  return Format("faults cleared: {}\n", cleared);
}

}  // namespace tessera::sim::command
