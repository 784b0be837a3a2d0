#include "nvml/blame.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace tessera::nvml {
namespace {

// Without them there is nothing to ask about any GPU.
bool IsIndispensable(Fn fn) {
  return fn == Fn::nvmlInitWithFlags || fn == Fn::nvmlInit_v2 || fn == Fn::nvmlDeviceGetCount_v2;
}

// Calls without whose answer a GPU is not offered.
bool IsVital(Fn fn) {
  return fn == Fn::nvmlDeviceGetHandleByIndex_v2 || fn == Fn::nvmlDeviceGetUUID || fn == Fn::nvmlDeviceGetMinorNumber ||
         fn == Fn::nvmlDeviceGetMigMode;
}

}  // namespace

Result<void> Blame::Add(std::uint32_t function, std::uint32_t gpu, const std::string& what, Time now, bool whole_gpu) {
  if (function >= kFunctionCount) {
    return BadDevice("NvmlHost", Format("the NVML host {} outside any NVML call", what),
                     "check the driver library; run nvidia-smi on the node");
  }
  const Fn fn = static_cast<Fn>(function);
  if (IsIndispensable(fn)) {
    return BadDevice("NvmlHost", Format("{}: the NVML host {}", Name(fn), what),
                     "the driver does not respond: run nvidia-smi on the node, reload the driver or reboot");
  }
  log::Verbose(
      2, "Lost the NVML host, going on without that call",
      {{"function", Name(fn)}, {"gpu", gpu == Progress::kNoGpu ? -1 : static_cast<int>(gpu)}, {"reason", what}});
  Avoid avoid{std::string(Name(fn)), std::nullopt, "the NVML host " + what};
  if (gpu != Progress::kNoGpu && (whole_gpu || IsVital(fn))) {
    // Without it the GPU has no identity, so there is nothing else to ask it; the others keep the call.
    avoid.function = "*";
    avoid.gpu = gpu;
  } else if (gpu != Progress::kNoGpu) {
    Narrow(avoid, gpu);
  }
  // A GPU that is left alone altogether says in which call that was decided.
  if (avoid.function == "*") avoid.reason = Format("{}: {}", Name(fn), avoid.reason);
  avoided_.push_back({std::move(avoid), now + lasting_});
  return {};
}

void Blame::Narrow(Avoid& avoid, unsigned gpu) {
  const auto same_function = [&](const Avoided& a) { return a.avoid.function == avoid.function; };
  if (std::erase_if(avoided_, same_function) > 0) return;  // The second GPU it fails on: on none again.
  avoid.gpu = gpu;
  if (std::ranges::any_of(avoided_, [&](const Avoided& a) { return a.avoid.gpu == gpu; })) avoid.function = "*";
}

bool Blame::Expire(Time now) {
  return std::erase_if(avoided_, [&](const Avoided& a) { return a.until < now; }) > 0;
}

std::vector<Avoid> Blame::Avoids() const {
  std::vector<Avoid> avoids;
  for (const Avoided& avoided : avoided_) avoids.push_back(avoided.avoid);
  return avoids;
}

}  // namespace tessera::nvml
