// The call frame: what happens in every NVML function before and around its own few lines.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

bool Matches(const Fault& fault, std::string_view function, std::optional<unsigned> minor) {
  return fault.remaining != 0 && (fault.function == "*" || fault.function == function) &&
         (!fault.minor || fault.minor == minor);
}

// Takes one call from the first matching finite fault of the shared state; a spent one vanishes. Where the state may
// only be read, the fault stays as it is. Nothing when others have used it up meanwhile.
std::optional<Fault> UseUp(Store& store, const Fault& seen, std::string_view function, std::optional<unsigned> minor) {
  std::optional<Fault> taken;
  const auto stored = store.Update([&](Machine& machine) -> Result<void> {
    const auto fault = std::ranges::find_if(
        machine.faults, [&](const Fault& candidate) { return Matches(candidate, function, minor); });
    if (fault == machine.faults.end()) return {};
    taken = *fault;
    if (fault->remaining > 0) --fault->remaining;
    if (fault->remaining == 0) machine.faults.erase(fault);
    return {};
  });
  return stored.has_value() || taken ? taken : seen;
}

[[noreturn]] void Crash() {
  ::signal(SIGSEGV, SIG_DFL);  // The program's own handler would make something gentler of it.
  ::raise(SIGSEGV);
  std::abort();
}

}  // namespace

FaultEffect ApplyFault(Store& store, const Machine& machine, std::string_view function, std::optional<unsigned> minor) {
  const auto seen =
      std::ranges::find_if(machine.faults, [&](const Fault& fault) { return Matches(fault, function, minor); });
  if (seen == machine.faults.end()) return {};
  const std::optional<Fault> fault = seen->remaining < 0 ? *seen : UseUp(store, *seen, function, minor);
  if (!fault) return {};
  if (fault->hang_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(fault->hang_ms));
  if (fault->crash) Crash();
  return {.code = fault->code, .garbage = fault->garbage};
}

const Model* ModelOf(const Machine& machine, const Gpu& gpu) {
  const auto model = machine.models.find(gpu.model);
  return model == machine.models.end() ? nullptr : &model->second;
}

Outcome<const Gpu*> Peer(const View& v, Device other) {
  const Outcome<Subject> found = At(other)(v.machine);
  if (!found.has_value()) return Fail(found.error());
  if (found->gpu->lost) return Fail(kGpuIsLost);
  return found->gpu;
}

Frame Enter(std::string_view function, const Locator& locate) {
  Frame frame;
  frame.store = CurrentStore();
  if (!frame.store) {
    frame.status = kUninitialized;
    return frame;
  }
  auto machine = frame.store->Read();
  if (!machine) return frame;
  frame.machine = std::move(*machine);

  const Outcome<Subject> found = locate(*frame.machine);
  frame.subject = found.value_or(Subject{});
  const Gpu* gpu = frame.subject.gpu;
  const FaultEffect effect =
      ApplyFault(*frame.store, *frame.machine, function, gpu != nullptr ? std::optional(gpu->minor) : std::nullopt);
  frame.garbage = effect.garbage;
  if (effect.code != kSuccess) {
    frame.status = effect.code;
  } else if (!frame.machine->driver_loaded) {
    frame.status = kDriverNotLoaded;
  } else if (!found.has_value()) {
    frame.status = found.error();
  } else if (gpu != nullptr && gpu->lost) {
    frame.status = kGpuIsLost;
  } else if (gpu == nullptr || ModelOf(*frame.machine, *gpu) != nullptr) {
    frame.status = kSuccess;
  }
  return frame;
}

Return ChangeAt(std::string_view function, const Locator& at, const Apply& apply) {
  const Frame frame = Enter(function, at);
  if (frame.status != kSuccess || frame.garbage) return frame.status;
  Return result = kUnknown;
  const auto stored = frame.store->Update([&](Machine& machine) -> Result<void> {
    const Outcome<Subject> found = at(machine);  // Others may have changed it since Enter().
    const Model* model = found.has_value() && found->gpu != nullptr ? ModelOf(machine, *found->gpu) : nullptr;
    if (!found.has_value()) {
      result = found.error();
    } else if (model != nullptr) {
      // They point into `machine`, which is ours to change here.
      Target target{machine, const_cast<Gpu&>(*found->gpu), *model, const_cast<GpuInstance*>(found->instance),
                    const_cast<ComputeInstance*>(found->compute)};
      result = apply(target);
    }
    if (result != kSuccess) return BadConfig("NvmlRefused", "the change was refused");
    return {};
  });
  if (stored.has_value() || result != kSuccess) return result;
  const bool refused = stored.error().code() == "StateReadOnly" || stored.error().code() == "FileUnwritable";
  return refused ? kNoPermission : kUnknown;
}

}  // namespace tessera::sim::library
