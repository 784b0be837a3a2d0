// nvmlDeviceGetFieldValues: facts by number, each with its own type and return code.
#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "sim/library/library.h"
#include "sim/symbols.h"

namespace tessera::sim::library {
namespace {

// The value of a field, which carries its type: unsigned, unsigned long long or int.
struct Payload {
  unsigned type = kFieldUnsigned;
  FieldPayload value{};
};
using Reading = Outcome<Payload>;

Reading U32(unsigned number) {
  Payload payload{.type = kFieldUnsigned};
  payload.value.uiVal = number;
  return payload;
}
Reading U64(std::uint64_t number) {
  Payload payload{.type = kFieldUnsignedLongLong};
  payload.value.ullVal = number;
  return payload;
}
Reading I32(int number) {
  Payload payload{.type = kFieldSigned};
  payload.value.siVal = number;
  return payload;
}
Reading If(bool supported, const Reading& reading) { return supported ? reading : Reading(Fail(kNotSupported)); }

using Read = Reading (*)(const View& v, unsigned scope);

Reading Missing(const View&, unsigned) { return Fail(kNotSupported); }

// Fields of one link, which scopeId names.
template <class ReadLink>
Reading OfLink(const View& v, unsigned link, const ReadLink& read) {
  if (!v.model.nvlink || v.gpu.links.empty()) return Fail(kNotSupported);
  if (link >= v.gpu.links.size()) return Fail(kInvalidArgument);
  return read(v.gpu.links[link]);
}

bool TellsRemapping(const View& v) { return v.model.row_remapping && v.gpu.instances.empty(); }

// From Ada on thresholds are told as distances from the limit, which is the highest normal temperature.
Reading Limit(const View& v, unsigned threshold) {
  return If(v.model.architecture >= kArchAda && threshold != 0 && v.model.temp_gpu_max != 0,
            I32(static_cast<int>(v.model.temp_gpu_max) - static_cast<int>(threshold)));
}

unsigned PowerNow(const View& v) { return v.gpu.power_mw != 0 ? v.gpu.power_mw : v.model.power_idle_mw; }

struct Field {
  unsigned id;
  unsigned since;  // HeaderRank; 0: always.
  Read read;
};

// In the order of NVIDIA's numbers. What is listed as Missing exists in NVML and not in this simulator.
constexpr Field kFields[] = {
    {1, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(1)); }},
    {2, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(v.gpu.ecc_pending ? 1 : 0)); }},
    {3, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(v.gpu.ecc.corrected_volatile)); }},
    {4, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(v.gpu.ecc.uncorrected_volatile)); }},
    {5, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(v.gpu.ecc.corrected_aggregate)); }},
    {6, 0, [](const View& v, unsigned) { return If(v.model.ecc, U64(v.gpu.ecc.uncorrected_aggregate)); }},
    {29, 0, [](const View& v, unsigned) { return If(v.model.page_retirement, U64(v.gpu.retired_pages_single_bit)); }},
    {30, 0, [](const View& v, unsigned) { return If(v.model.page_retirement, U64(v.gpu.retired_pages)); }},
    {31, 0, [](const View& v, unsigned) { return If(v.model.page_retirement, U64(v.gpu.retired_pending ? 1 : 0)); }},
    {74, 0, Missing},  // 74 to 81: throttle times.
    {75, 0, Missing},
    {76, 0, Missing},
    {77, 0, Missing},
    {78, 0, Missing},
    {79, 0, Missing},
    {80, 0, Missing},
    {81, 0, Missing},
    {82, 0, [](const View& v, unsigned) { return If(v.model.temp_memory_max != 0, U32(v.gpu.temperature)); }},
    {83, 0, Missing},  // Energy.
    {kFieldNvlinkLinkCount, 0,
     [](const View& v, unsigned) {
       return If(v.model.nvlink.has_value() && !v.gpu.links.empty(), U32(static_cast<unsigned>(v.gpu.links.size())));
     }},
    {94, 0, [](const View& v, unsigned) { return U32(v.gpu.pcie_replays); }},
    {95, 0, [](const View&, unsigned) { return U32(0); }},
    {142, 0, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(v.gpu.remapped.correctable)); }},
    {143, 0, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(v.gpu.remapped.uncorrectable)); }},
    {144, 0, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(v.gpu.remapped.pending ? 1 : 0)); }},
    {145, 0, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(v.gpu.remapped.failed ? 1 : 0)); }},
    {146, 0,
     [](const View& v, unsigned link) { return OfLink(v, link, [](const NvLink& l) { return U32(l.remote_link); }); }},
    {kFieldNvswitchLinkCount, 0,
     [](const View& v, unsigned) {
       const auto connected =
           std::ranges::count_if(v.gpu.links, [](const NvLink& l) { return l.up && l.remote_type == kRemoteSwitch; });
       return If(v.model.nvlink.has_value() && !v.gpu.links.empty(), U32(static_cast<unsigned>(connected)));
     }},
    {164, 1108,
     [](const View& v, unsigned link) {
       return OfLink(v, link, [&](const NvLink& l) { return U32(l.up ? v.model.nvlink->speed_mbps : 0); });
     }},
    {165, 1108,
     [](const View& v, unsigned link) { return OfLink(v, link, [](const NvLink& l) { return U32(l.up ? 1 : 0); }); }},
    {166, 1108,
     [](const View& v, unsigned link) {
       return OfLink(v, link, [&](const NvLink&) { return U32(v.model.nvlink->version); });
     }},
    {170, 1202, Missing},  // 170 to 172: C2C links.
    {171, 1202, Missing},
    {172, 1202, Missing},
    {kFieldResetlessMig, 1202,
     [](const View& v, unsigned) { return If(!v.model.mig.empty(), U32(v.model.resetless_mig ? 1 : 0)); }},
    {185, 1202, [](const View& v, unsigned) { return If(v.model.power_default_mw != 0, U32(PowerNow(v))); }},
    {186, 1202, [](const View& v, unsigned) { return If(v.model.power_default_mw != 0, U32(PowerNow(v))); }},
    {187, 1202, [](const View& v, unsigned) { return If(v.model.power_min_mw != 0, U32(v.model.power_min_mw)); }},
    {188, 1202, [](const View& v, unsigned) { return If(v.model.power_max_mw != 0, U32(v.model.power_max_mw)); }},
    {189, 1202,
     [](const View& v, unsigned) { return If(v.model.power_default_mw != 0, U32(v.model.power_default_mw)); }},
    {190, 1202,
     [](const View& v, unsigned) { return If(v.model.power_default_mw != 0, U32(v.model.power_default_mw)); }},
    {192, 1202,
     [](const View& v, unsigned) { return If(v.model.power_default_mw != 0, U32(v.model.power_default_mw)); }},
    {193, 1202, [](const View& v, unsigned) { return Limit(v, v.model.temp_shutdown); }},
    {194, 1202, [](const View& v, unsigned) { return Limit(v, v.model.temp_slowdown); }},
    {195, 1202, [](const View& v, unsigned) { return Limit(v, v.model.temp_gpu_max); }},
    {196, 1202, [](const View& v, unsigned) { return Limit(v, v.model.temp_gpu_max); }},
    {199, 1204, [](const View& v, unsigned) { return If(!v.model.mig.empty(), U32(v.model.resetless_mig ? 1 : 0)); }},
    {200, 1204, Missing},  // NVLink power threshold.
    {213, 1206,
     [](const View& v, unsigned link) {
       return OfLink(v, link, [](const NvLink& l) { return U64(l.recovery_errors); });
     }},
    {214, 1206, [](const View& v, unsigned link) { return OfLink(v, link, [](const NvLink&) { return U64(0); }); }},
    {215, 1206,
     [](const View& v, unsigned link) {
       return OfLink(v, link, [](const NvLink& l) { return U64(l.recovery_errors); });
     }},
    {kFieldRecoveryAction, 1208, [](const View& v, unsigned) { return U32(v.gpu.recovery_action); }},
    {231, 1209, Missing},  // 231 to 234: C2C errors and power state.
    {232, 1209, Missing},
    {233, 1209, Missing},
    {234, 1209, Missing},
    {301, 1302, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(0)); }},
    {302, 1302, [](const View& v, unsigned) { return If(TellsRemapping(v), U64(0)); }},
};

// Headers 12.5 and 12.6 had 199 and 200 the other way round.
unsigned TodaysNumber(unsigned id, unsigned header) {
  const bool swapped = header == 1205 || header == 1206;
  return swapped && id == 199 ? 200 : swapped && id == 200 ? 199 : id;
}

Reading ReadField(const View& v, unsigned id, unsigned scope) {
  const unsigned header = HeaderRank(v.machine.nvml_header);
  const auto field = std::ranges::find(kFields, TodaysNumber(id, header), &Field::id);
  if (field == std::end(kFields) || field->since > header) return Fail(kInvalidArgument);
  return field->read(v, scope);
}

void Fill(const View& v, long long now, FieldValue& entry) {
  const Reading reading = ReadField(v, entry.fieldId, entry.scopeId);
  entry.timestamp = now;
  entry.latencyUsec = 0;
  entry.nvmlReturn = reading.has_value() ? kSuccess : reading.error();
  entry.valueType = reading.has_value() ? reading->type : 0;
  entry.value = reading.has_value() ? reading->value : FieldPayload{};
}

// The caller's entries: what is asked and where the answers go.
struct Entries {
  FieldValue* values;
  int count;
  Return Check() const { return values == nullptr || count <= 0 ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(values, sizeof(FieldValue) * static_cast<std::size_t>(count)); }
  Return Write(const View& v) const {
    const auto since_1970 = SystemClock().Now().time_since_epoch();
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
    for (int i = 0; i < count; ++i) Fill(v, now, values[i]);
    return kSuccess;
  }
};

}  // namespace

NVML(nvmlDeviceGetFieldValues, Device device, int count, FieldValue* values) {
  return Answer(__func__, device, Entries{values, count}, [](const View& v) { return v; });
}

}  // namespace tessera::sim::library
