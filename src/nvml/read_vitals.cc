#include "nvml/read_vitals.h"

#include "nvml/vet.h"

namespace tessera::nvml {
namespace {

void ReadEcc(Caller& call, abi::Device device, GpuVitals& gpu) {
  const auto ask = [&](unsigned error, unsigned counter) -> std::optional<std::uint64_t> {
    return call.Ask<Fn::nvmlDeviceGetTotalEccErrors, unsigned long long>(device, error, counter);
  };
  gpu.ecc_corrected = ask(abi::kErrorCorrected, abi::kCounterVolatile);
  if (!gpu.ecc_corrected) return;  // No ECC, or no answer: the other three would be the same.
  gpu.ecc_uncorrected = ask(abi::kErrorUncorrected, abi::kCounterVolatile);
  gpu.ecc_corrected_lifetime = ask(abi::kErrorCorrected, abi::kCounterAggregate);
  gpu.ecc_uncorrected_lifetime = ask(abi::kErrorUncorrected, abi::kCounterAggregate);
}

// Not told while there are MIG instances.
void ReadRemappedRows(Caller& call, abi::Device device, GpuVitals& gpu) {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (call.Call<Fn::nvmlDeviceGetRemappedRows>(device, &corrected, &uncorrected, &pending, &failed) != Outcome::kOk) {
    return;
  }
  gpu.remapped_corrected = corrected;
  gpu.remapped_uncorrected = uncorrected;
  gpu.remap_pending = AsFlag(pending);
  gpu.remap_failed = AsFlag(failed);
  if (!gpu.remap_pending || !gpu.remap_failed) call.Note(Fn::nvmlDeviceGetRemappedRows, "answered with garbage");
}

// Only how many: without room for their addresses NVML answers that there is too little of it.
std::optional<unsigned> AskRetiredPages(Caller& call, abi::Device device, unsigned cause) {
  unsigned count = 0;
  const abi::Return code = call.Raw<Fn::nvmlDeviceGetRetiredPages>(device, cause, &count, nullptr);
  if (code == abi::kSuccess || code == abi::kInsufficientSize) return count;
  if (code != Caller::kAvoided && code != abi::kNotSupported && code != abi::kFunctionNotFound) {
    call.Note(Fn::nvmlDeviceGetRetiredPages, CodeText(code));
  }
  return std::nullopt;
}

void ReadRetiredPages(Caller& call, abi::Device device, GpuVitals& gpu) {
  gpu.retired_corrected = AskRetiredPages(call, device, abi::kRetiredForSingleBit);
  if (!gpu.retired_corrected) return;
  gpu.retired_uncorrected = AskRetiredPages(call, device, abi::kRetiredForDoubleBit);
  gpu.retirement_pending = AsFlag(call.Ask<Fn::nvmlDeviceGetRetiredPagesPendingStatus>(device));
}

void ReadTemperature(Caller& call, abi::Device device, GpuVitals& gpu) {
  if (call.Has<Fn::nvmlDeviceGetTemperature>()) {
    gpu.temperature = call.Ask<Fn::nvmlDeviceGetTemperature>(device, abi::kSensorGpu);
    return;
  }
  abi::Temperature reading{abi::VersionOf<abi::Temperature>(1), abi::kSensorGpu, 0};
  if (call.Call<Fn::nvmlDeviceGetTemperatureV>(device, &reading) != Outcome::kOk || reading.temperature < 0) return;
  gpu.temperature = static_cast<unsigned>(reading.temperature);
}

void ReadClocks(Caller& call, abi::Device device, GpuVitals& gpu) {
  gpu.slowdown_reasons = call.Has<Fn::nvmlDeviceGetCurrentClocksEventReasons>()
                             ? call.Ask<Fn::nvmlDeviceGetCurrentClocksEventReasons, unsigned long long>(device)
                             : call.Ask<Fn::nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long>(device);
  // Utilisation is not told while MIG is on; that clocks are low because nothing runs, always.
  if (const auto load = call.Ask<Fn::nvmlDeviceGetUtilizationRates, abi::Utilization>(device)) {
    gpu.busy = load->gpu > 0;
  } else if (gpu.slowdown_reasons) {
    gpu.busy = (*gpu.slowdown_reasons & abi::kClocksIdle) == 0;
  }
}

void ReadPcie(Caller& call, abi::Device device, GpuVitals& gpu) {
  gpu.pcie_generation = call.Ask<Fn::nvmlDeviceGetCurrPcieLinkGeneration>(device);
  gpu.pcie_width = call.Ask<Fn::nvmlDeviceGetCurrPcieLinkWidth>(device);
  gpu.pcie_generation_max = call.Ask<Fn::nvmlDeviceGetMaxPcieLinkGeneration>(device);
  gpu.pcie_width_max = call.Ask<Fn::nvmlDeviceGetMaxPcieLinkWidth>(device);
}

void ReadAdvice(Caller& call, abi::Device device, GpuVitals& gpu) {
  gpu.recovery_action = AskRecoveryAction(call, device);
  gpu.fabric = AskFabric(call, device);
}

void ReadLinks(Caller& call, abi::Device device, const std::vector<unsigned>& links, GpuVitals& gpu) {
  bool counted = true;  // Newer GPUs count elsewhere; asking each link would be in vain.
  for (const unsigned link : links) {
    const auto state = call.Ask<Fn::nvmlDeviceGetNvLinkState>(device, link);
    if (!state) continue;
    LinkVitals vitals{.link = link, .active = *state == 1};
    const auto ask = [&](unsigned counter) -> std::optional<std::uint64_t> {
      if (!counted) return std::nullopt;
      const auto count = call.Ask<Fn::nvmlDeviceGetNvLinkErrorCounter, unsigned long long>(device, link, counter);
      counted = count.has_value();
      return count;
    };
    vitals.replay_errors = ask(abi::kLinkReplayErrors);
    vitals.recovery_errors = ask(abi::kLinkRecoveryErrors);
    vitals.crc_errors = ask(abi::kLinkCrcFlitErrors);
    gpu.links.push_back(vitals);
  }
}

}  // namespace

std::optional<std::vector<unsigned>> FindLinks(Caller& call, abi::Device device) {
  std::vector<unsigned> links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = 0;
    const abi::Return code = call.Raw<Fn::nvmlDeviceGetNvLinkState>(device, link, &state);
    if (code == abi::kInvalidArgument || code == abi::kFunctionNotFound) break;  // Past the last one, or no such thing.
    if (code == abi::kSuccess) {
      links.push_back(link);
    } else if (code != abi::kNotSupported) {
      if (code != Caller::kAvoided) call.Note(Fn::nvmlDeviceGetNvLinkState, CodeText(code));
      return std::nullopt;
    }
  }
  return links;
}

void ReadVitals(Caller& call, abi::Device device, const std::vector<unsigned>& links, GpuVitals& gpu) {
  for (const auto read :
       {ReadAdvice, ReadEcc, ReadRemappedRows, ReadRetiredPages, ReadTemperature, ReadClocks, ReadPcie}) {
    read(call, device, gpu);
    if (call.lost()) return;
  }
  ReadLinks(call, device, links, gpu);
  Vet(gpu);
}

}  // namespace tessera::nvml
