// Errors, repairs, temperature, power and the PCIe link.
#include <algorithm>

#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

constexpr unsigned kLocationDram = 2, kLocationLast = 7;  // nvmlMemoryLocation_t
constexpr unsigned kAllClocksReasons = 0x1FF;

Outcome<unsigned long long> EccErrors(const View& v, unsigned type, unsigned counter) {
  if (type > kErrorUncorrected || counter > kCounterAggregate) return Fail(kInvalidArgument);
  if (!v.model.ecc) return Fail(kNotSupported);
  const EccCounters& ecc = v.gpu.ecc;
  if (type == kErrorCorrected) return counter == kCounterVolatile ? ecc.corrected_volatile : ecc.corrected_aggregate;
  return counter == kCounterVolatile ? ecc.uncorrected_volatile : ecc.uncorrected_aggregate;
}

// The simulator counts all errors in DRAM. A MIG device has only the volatile uncorrected ones elsewhere.
Outcome<unsigned long long> LocatedErrors(const View& v, unsigned type, unsigned counter, unsigned location) {
  if (location > kLocationLast) return Fail(kInvalidArgument);
  const auto errors = EccErrors(v, type, counter);
  if (!errors.has_value()) return Fail(errors.error());
  if (v.is_mig() && (type != kErrorUncorrected || counter != kCounterVolatile || location == kLocationDram)) {
    return Fail(kNotSupported);
  }
  return location == kLocationDram ? *errors : 0;
}

// Row remapping is not told while the board is cut into instances.
bool TellsRemapping(const View& v) { return v.model.row_remapping && v.gpu.instances.empty(); }

// Addresses that look like such: one page of 64 KiB after the other.
Outcome<std::vector<unsigned long long>> RetiredPages(const View& v, unsigned cause) {
  if (!v.model.page_retirement) return Fail(kNotSupported);
  if (cause > kRetiredForDoubleBit) return Fail(kInvalidArgument);
  const unsigned count = cause == kRetiredForDoubleBit ? v.gpu.retired_pages : v.gpu.retired_pages_single_bit;
  std::vector<unsigned long long> pages;
  for (unsigned i = 0; i < count; ++i) pages.push_back((i + 1ULL) << 16U);
  return pages;
}

Outcome<unsigned> TemperatureThreshold(const View& v, unsigned type) {
  const unsigned thresholds[] = {v.model.temp_shutdown,
                                 v.model.temp_slowdown,
                                 v.model.temp_memory_max,
                                 v.model.temp_gpu_max,
                                 0,
                                 0,
                                 0,
                                 0};  // Acoustic and GPS: no such board here.
  if (type >= std::size(thresholds)) return Fail(kInvalidArgument);
  if (thresholds[type] == 0) return Fail(kNotSupported);
  return thresholds[type];
}

Outcome<unsigned> PowerLimit(const View& v) {
  if (v.model.power_default_mw == 0) return Fail(kNotSupported);
  return v.model.power_default_mw;
}

}  // namespace

// ---- ECC.

NVML(nvmlDeviceGetTotalEccErrors, Device device, unsigned type, unsigned counter, unsigned long long* count) {
  return Answer(__func__, device, count, [&](const View& v) { return EccErrors(v, type, counter); });
}

NVML(nvmlDeviceGetMemoryErrorCounter, Device device, unsigned type, unsigned counter, unsigned location,
     unsigned long long* count) {
  return Answer(__func__, device, count, [&](const View& v) { return LocatedErrors(v, type, counter, location); });
}

NVML(nvmlDeviceClearEccErrorCounts, Device device, unsigned counter) {
  return Change(__func__, device, [&](Target& t) {
    if (counter > kCounterAggregate) return kInvalidArgument;
    if (!t.model.ecc) return kNotSupported;
    EccCounters& ecc = t.gpu.ecc;
    (counter == kCounterVolatile ? ecc.corrected_volatile : ecc.corrected_aggregate) = 0;
    (counter == kCounterVolatile ? ecc.uncorrected_volatile : ecc.uncorrected_aggregate) = 0;
    return kSuccess;
  });
}

NVML(nvmlDeviceGetSramEccErrorStatus, Device device, EccSramErrorStatus* status) {
  return Answer(__func__, device, Versioned{status, 1}, [](const View& v) -> Outcome<EccSramErrorStatus> {
    if (!v.model.ecc || !v.model.row_remapping) return Fail(kNotSupported);
    EccSramErrorStatus answer{};
    answer.bThresholdExceeded = v.gpu.ecc.sram_threshold_exceeded ? 1 : 0;
    return answer;
  });
}

// ---- Repairs.

NVML(nvmlDeviceGetRemappedRows, Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
     unsigned* failed) {
  using Rows = std::tuple<unsigned, unsigned, unsigned, unsigned>;
  return Answer(__func__, device, All(corrected, uncorrected, pending, failed), [](const View& v) -> Outcome<Rows> {
    if (!TellsRemapping(v)) return Fail(kNotSupported);
    const RemappedRows& rows = v.gpu.remapped;
    return Rows(rows.correctable, rows.uncorrectable, rows.pending ? 1U : 0U, rows.failed ? 1U : 0U);
  });
}

NVML(nvmlDeviceGetRemappedRows_v2, Device device, RemappedRowsInfo* info) {
  return Answer(__func__, device, info, [](const View& v) -> Outcome<RemappedRowsInfo> {
    if (!TellsRemapping(v)) return Fail(kNotSupported);
    const RemappedRows& rows = v.gpu.remapped;
    return RemappedRowsInfo{.corrActive = rows.correctable,
                            .corrInactive = 0,
                            .uncActive = rows.uncorrectable,
                            .uncInactive = 0,
                            .bPending = rows.pending ? 1U : 0U,
                            .bFailureOccurred = rows.failed ? 1U : 0U};
  });
}

// Each remapped row is taken to be the first of its bank, which leaves that bank a high number of spares.
NVML(nvmlDeviceGetRowRemapperHistogram, Device device, RowRemapperHistogram* histogram) {
  return Answer(__func__, device, histogram, [](const View& v) -> Outcome<RowRemapperHistogram> {
    if (!TellsRemapping(v)) return Fail(kNotSupported);
    const unsigned touched = std::min(v.gpu.remapped.correctable + v.gpu.remapped.uncorrectable, v.model.remap_banks);
    return RowRemapperHistogram{
        .max = v.model.remap_banks - touched, .high = touched, .partial = 0, .low = 0, .none = 0};
  });
}

NVML(nvmlDeviceGetRepairStatus, Device device, RepairStatus* status) {
  return Answer(__func__, device, Versioned{status, 1}, [](const View& v) -> Outcome<RepairStatus> {
    if (!v.model.row_remapping) return Fail(kNotSupported);
    return RepairStatus{};
  });
}

NVML(nvmlDeviceGetUnrepairableMemoryFlag_v1, Device device, unsigned* flag) {
  return Answer(__func__, device, flag, [](const View& v) -> Outcome<unsigned> {
    if (!v.model.row_remapping) return Fail(kNotSupported);
    return v.gpu.remapped.failed ? 1U : 0U;
  });
}

NVML(nvmlDeviceGetRetiredPages, Device device, unsigned cause, unsigned* count, unsigned long long* addresses) {
  return Answer(__func__, device, Sized{count, addresses}, [&](const View& v) { return RetiredPages(v, cause); });
}

NVML(nvmlDeviceGetRetiredPages_v2, Device device, unsigned cause, unsigned* count, unsigned long long* addresses,
     unsigned long long* timestamps) {
  const unsigned capacity = count == nullptr || timestamps == nullptr ? 0 : *count;
  const Return result =
      Answer(__func__, device, Sized{count, addresses}, [&](const View& v) { return RetiredPages(v, cause); });
  if (result == kSuccess) std::fill_n(timestamps, std::min(capacity, *count), 0ULL);
  return result;
}

NVML(nvmlDeviceGetRetiredPagesPendingStatus, Device device, unsigned* pending) {
  return Answer(__func__, device, pending, [](const View& v) -> Outcome<unsigned> {
    if (!v.model.page_retirement) return Fail(kNotSupported);
    return v.gpu.retired_pending ? 1U : 0U;
  });
}

// ---- Temperature.

NVML(nvmlDeviceGetTemperature, Device device, unsigned sensor, unsigned* celsius) {
  return Answer(__func__, device, celsius, [&](const View& v) -> Outcome<unsigned> {
    if (sensor != 0) return Fail(kInvalidArgument);
    return v.gpu.temperature;
  });
}

NVML(nvmlDeviceGetTemperatureV, Device device, Temperature* temperature) {
  return Answer(__func__, device, Versioned{temperature, 1}, [&](const View& v) -> Outcome<Temperature> {
    if (temperature->sensorType != 0) return Fail(kInvalidArgument);
    return Temperature{.version = 0, .sensorType = 0, .temperature = static_cast<int>(v.gpu.temperature)};
  });
}

NVML(nvmlDeviceGetTemperatureThreshold, Device device, unsigned type, unsigned* celsius) {
  return Answer(__func__, device, celsius, [&](const View& v) { return TemperatureThreshold(v, type); });
}

NVML(nvmlDeviceGetMarginTemperature, Device device, MarginTemperature* margin) {
  return Answer(__func__, device, Versioned{margin, 1}, [](const View& v) -> Outcome<MarginTemperature> {
    if (v.model.temp_gpu_max == 0) return Fail(kNotSupported);
    const int left = static_cast<int>(v.model.temp_gpu_max) - static_cast<int>(v.gpu.temperature);
    return MarginTemperature{.version = 0, .marginTemperature = left};
  });
}

// ---- Power, clocks, load.

NVML(nvmlDeviceGetPowerUsage, Device device, unsigned* milliwatts) {
  return Answer(__func__, device, milliwatts, [](const View& v) -> Outcome<unsigned> {
    if (const auto limit = PowerLimit(v); !limit.has_value()) return Fail(limit.error());
    return v.gpu.power_mw != 0 ? v.gpu.power_mw : v.model.power_idle_mw;
  });
}

NVML(nvmlDeviceGetPowerManagementLimit, Device device, unsigned* milliwatts) {
  return Answer(__func__, device, milliwatts, PowerLimit);
}
NVML(nvmlDeviceGetPowerManagementDefaultLimit, Device device, unsigned* milliwatts) {
  return Answer(__func__, device, milliwatts, PowerLimit);
}
NVML(nvmlDeviceGetEnforcedPowerLimit, Device device, unsigned* milliwatts) {
  return Answer(__func__, device, milliwatts, PowerLimit);
}

NVML(nvmlDeviceGetPowerManagementLimitConstraints, Device device, unsigned* least, unsigned* most) {
  return Answer(__func__, device, All(least, most), [](const View& v) -> Outcome<std::tuple<unsigned, unsigned>> {
    if (v.model.power_max_mw == 0) return Fail(kNotSupported);
    return std::tuple(v.model.power_min_mw, v.model.power_max_mw);
  });
}

NVML(nvmlDeviceGetCurrentClocksEventReasons, Device device, unsigned long long* reasons) {
  return Answer(__func__, device, reasons, [](const View& v) { return v.gpu.clocks_event_reasons; });
}
NVML(nvmlDeviceGetCurrentClocksThrottleReasons, Device device, unsigned long long* reasons) {
  return Answer(__func__, device, reasons, [](const View& v) { return v.gpu.clocks_event_reasons; });
}
NVML(nvmlDeviceGetSupportedClocksEventReasons, Device device, unsigned long long* reasons) {
  return Answer(__func__, device, reasons, [](const View&) { return kAllClocksReasons; });
}
NVML(nvmlDeviceGetSupportedClocksThrottleReasons, Device device, unsigned long long* reasons) {
  return Answer(__func__, device, reasons, [](const View&) { return kAllClocksReasons; });
}

// Nothing computes here: what `load` said.
NVML(nvmlDeviceGetUtilizationRates, Device device, Utilization* utilization) {
  return Answer(__func__, device, utilization, [](const View& v) -> Outcome<Utilization> {
    if (v.gpu.mig_mode == 1) return Fail(kNotSupported);
    return Utilization{.gpu = v.gpu.utilization, .memory = 0};
  });
}

// ---- PCIe.

NVML(nvmlDeviceGetPcieReplayCounter, Device device, unsigned* count) {
  return Answer(__func__, device, count, [](const View& v) { return v.gpu.pcie_replays; });
}
NVML(nvmlDeviceGetMaxPcieLinkGeneration, Device device, unsigned* generation) {
  return Answer(__func__, device, generation, [](const View& v) { return v.model.pcie_generation; });
}
NVML(nvmlDeviceGetGpuMaxPcieLinkGeneration, Device device, unsigned* generation) {
  return Answer(__func__, device, generation, [](const View& v) { return v.model.pcie_generation; });
}
NVML(nvmlDeviceGetMaxPcieLinkWidth, Device device, unsigned* width) {
  return Answer(__func__, device, width, [](const View& v) { return v.model.pcie_width; });
}
NVML(nvmlDeviceGetCurrPcieLinkGeneration, Device device, unsigned* generation) {
  return Answer(__func__, device, generation, [](const View& v) {
    return v.gpu.pcie_generation != 0 ? v.gpu.pcie_generation : v.model.pcie_generation;
  });
}
NVML(nvmlDeviceGetCurrPcieLinkWidth, Device device, unsigned* width) {
  return Answer(__func__, device, width,
                [](const View& v) { return v.gpu.pcie_width != 0 ? v.gpu.pcie_width : v.model.pcie_width; });
}

}  // namespace tessera::sim::library
