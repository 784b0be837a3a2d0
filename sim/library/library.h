// sim/library/library.h: how an NVML function of the simulator is written.
//
// Each exported function is one Answer() or one Change(): what it acts on, where the answer goes (sink.h), and how the
// answer follows from the machine. So each reads like a small specification:
//
//   NVML(nvmlDeviceGetMinorNumber, Device device, unsigned* minor) {
//     return Answer(__func__, device, minor, [](const View& v) { return v.gpu.minor; });
//   }
//
// Everything that is the same for all functions happens in Enter(), in this order: the library is initialised, an
// injected fault takes effect, the driver is loaded, the handle means something, the GPU is not lost.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/library/sink.h"
#include "sim/machine.h"
#include "sim/store.h"

// Defines an exported function.
#define NVML(name, ...) extern "C" __attribute__((visibility("default"))) Return name(__VA_ARGS__)

namespace tessera::sim::library {

namespace abi = nvml::abi;  // abi::GpuInstance is a handle, GpuInstance the simulated thing.

// An answer, or the NVML code to return instead: Fail(kNotSupported).
template <class T>
using Outcome = std::expected<T, Return>;
inline std::unexpected<Return> Fail(Return code) { return std::unexpected(code); }

// What a handle means in one state of the machine. `instance` is set for GPU instances and everything below, `compute`
// for compute instances and MIG devices.
struct Subject {
  const Gpu* gpu = nullptr;
  const GpuInstance* instance = nullptr;
  const ComputeInstance* compute = nullptr;
};
using Locator = std::function<Outcome<Subject>(const Machine&)>;

// A Subject with its surroundings, for looking.
struct View {
  const Machine& machine;
  const Gpu& gpu;
  const Model& model;
  const GpuInstance* instance;
  const ComputeInstance* compute;
  bool is_mig() const { return compute != nullptr; }
};

// The same, for changing.
struct Target {
  Machine& machine;
  Gpu& gpu;
  const Model& model;
  GpuInstance* instance;
  ComputeInstance* compute;
  bool is_mig() const { return compute != nullptr; }
};

// ---- Handles. Addresses of our own objects, known to a registry: a pointer that is not ours is refused, not followed.

struct Whole {};
inline constexpr Whole kMachine;  // For functions that act on no GPU.

Locator At(Device device);  // A GPU or a MIG device.
Locator At(abi::GpuInstance instance);
Locator At(abi::ComputeInstance instance);
inline Locator At(Whole) {
  return [](const Machine&) { return Subject{}; };
}
inline Locator At(Locator locate) { return locate; }  // For look-ups: what is asked for is not a handle yet.

// The GPU of a second handle, for functions that compare two.
Outcome<const Gpu*> Peer(const View& v, Device other);

// The same thing has the same handle for as long as it lives.
Device HandleOf(const Gpu& gpu);
Device HandleOf(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute);  // The MIG device.
abi::GpuInstance InstanceHandle(const Gpu& gpu, const GpuInstance& instance);
abi::ComputeInstance ComputeHandle(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute);
// The thing is gone; a new one gets another address even where it is alike.
void Retire(const void* handle);

// ---- What this process may see (session.cc).

// The GPUs in index order.
std::vector<const Gpu*> VisibleGpus(const Machine& machine);
bool IsVisible(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute);

// ---- The call frame (frame.cc).

struct Frame {
  Return status = kUnknown;  // Other than kSuccess: return it.
  bool garbage = false;      // A fault: answer nonsense.
  std::shared_ptr<Store> store;
  std::shared_ptr<const Machine> machine;
  Subject subject;
};
Frame Enter(std::string_view function, const Locator& locate);

// The state this process works on while the library is initialised, else null.
std::shared_ptr<Store> CurrentStore();

// Applies the first matching fault of `machine`, except garbage, which the caller must apply. A finite fault is used up
// in the shared state. Does not return when the fault is a crash.
struct FaultEffect {
  Return code = kSuccess;
  bool garbage = false;
};
FaultEffect ApplyFault(Store& store, const Machine& machine, std::string_view function, std::optional<unsigned> minor);

// The model of a GPU, or null where the state names one that it does not have.
const Model* ModelOf(const Machine& machine, const Gpu& gpu);

template <class Compute>
auto Evaluate(const Frame& frame, const Compute& compute) {
  if constexpr (std::is_invocable_v<Compute, const Machine&>) {
    return compute(*frame.machine);
  } else {
    const Subject& s = frame.subject;
    return compute(View{*frame.machine, *s.gpu, *ModelOf(*frame.machine, *s.gpu), s.instance, s.compute});
  }
}

template <class Sink, class T>
Return Deliver(const Sink& sink, const T& answer) {
  return sink.Write(answer);
}
template <class Sink, class T>
Return Deliver(const Sink& sink, const Outcome<T>& answer) {
  return answer.has_value() ? sink.Write(*answer) : answer.error();
}

// A function that looks: `compute` takes a View (or a Machine, for kMachine) and returns the answer or an Outcome of
// it. It runs after the sink's Check(), so it may read what the caller has put there.
template <class Where, class Out, class Compute>
Return Answer(std::string_view function, const Where& where, const Out& out, const Compute& compute) {
  const Frame frame = Enter(function, At(where));
  if (frame.status != kSuccess) return frame.status;
  const auto sink = MakeSink(out);
  if (const Return wrong = sink.Check(); wrong != kSuccess) return wrong;
  if (frame.garbage) {
    sink.Spoil();
    return kSuccess;
  }
  return Deliver(sink, Evaluate(frame, compute));
}

// A function that changes the shared state. `apply` runs under the store's lock on the newest state, and what it
// changed is kept only when it returns kSuccess.
using Apply = std::function<Return(Target&)>;
Return ChangeAt(std::string_view function, const Locator& at, const Apply& apply);
template <class Where>
Return Change(std::string_view function, const Where& where, const Apply& apply) {
  return ChangeAt(function, At(where), apply);
}

}  // namespace tessera::sim::library
