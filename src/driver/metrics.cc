#include "driver/metrics.h"

#include <algorithm>

#include "device/slices.h"

namespace tessera::driver {
namespace {

// From 100 µs up. From 0.1 s on these are the kubelet's own bounds (dra_grpc_operations_duration_seconds), so that its
// histogram and ours line up.
std::vector<double> Bounds() {
  return {0.0001, 0.00025,  0.0005,   0.001,    0.0025,    0.005,     0.01,      0.025,
          0.05,   0.1,      0.153413, 0.235355, 0.361064,  0.553918,  0.849781,  1.303673,
          2,      3.068255, 4.707094, 7.221282, 11.078366, 16.995625, 26.073454, 40};
}

std::vector<double> GoBounds() { return {0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8}; }

double Seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

const std::string kDriver(device::kDriverName);

}  // namespace

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kApiGet:
      return "api-get";
    case Phase::kValidate:
      return "validate";
    case Phase::kLock:
      return "lock";
    case Phase::kAct:
      return "act";
    case Phase::kJournal:
      return "journal";
    case Phase::kCdi:
      return "cdi";
    case Phase::kTotal:
      return "total";
  }
  return "unknown";
}

std::string_view ToString(Method method) { return method == Method::kPrepare ? "prepare" : "unprepare"; }

Metrics::Metrics(std::string_view node_name, std::string_view version)
    : duration(registry.AddHistogram("tessera_request_duration_seconds",
                                     "Time of one claim's prepare or unprepare, by phase; \"total\" is all of it.",
                                     Bounds(), {"method", "phase", "outcome"})),
      in_flight(registry.AddGauge("tessera_requests_in_flight", "Claims being prepared or unprepared.", {"method"})),
      errors(registry.AddCounter("tessera_errors_total", "Failed claims by the error's code and kind.",
                                 {"method", "code", "kind"})),
      refused_again(registry.AddCounter("tessera_prepare_refused_again_total",
                                        "Prepares refused without a new look: nothing changed since the last one.")),
      prepared(registry.AddGauge("tessera_prepared_devices", "Devices that claims hold on this node.", {"type"})),
      claim_info(
          registry.AddGauge("tessera_claim_device_info", "One series for each pod, claim and device; always 1.",
                            {"namespace", "claim", "claim_uid", "pod", "device", "type", "uuid", "parent_uuid"})),
      journal_bytes(registry.AddGauge("tessera_journal_bytes", "Size of the journal.")),
      journal_claims(registry.AddGauge("tessera_journal_claims", "Claims in the journal.")),
      journal_syncs(registry.AddCounter("tessera_journal_syncs_total", "Times the journal was brought to the disk.")),
      journal_recoveries(
          registry.AddCounter("tessera_journal_recoveries_total", "Times a damaged journal was repaired.")),
      journal_write_failures(registry.AddCounter("tessera_journal_write_failures_total",
                                                 "Journal writes that failed, such as on a full disk.")),
      slice_writes(registry.AddCounter("tessera_slice_writes_total", "ResourceSlices written.", {"verb"})),
      slice_failures(
          registry.AddCounter("tessera_slice_failures_total", "Failed attempts to publish ResourceSlices.", {"code"})),
      status_writes(registry.AddCounter("tessera_claim_status_writes_total",
                                        "Writes of status.devices of claims by what became of them.", {"outcome"})),
      slices_published(registry.AddGauge("tessera_slices_published",
                                         "1 while the API server holds exactly the ResourceSlices we want.")),
      slice_conflict(registry.AddGauge("tessera_slice_conflict", "1 while somebody else writes our ResourceSlices.")),
      dropped_fields(registry.AddGauge("tessera_slice_dropped_fields",
                                       "Fields of our ResourceSlices that the API server does not keep.")),
      registered(registry.AddGauge("tessera_kubelet_registered", "1 while the kubelet has this plugin registered.")),
      registrations_refused(registry.AddCounter("tessera_kubelet_registrations_refused_total",
                                                "Times the kubelet refused to register us.")),
      devices(registry.AddGauge("tessera_devices", "Devices found on this node.", {"type"})),
      withheld(registry.AddGauge("tessera_devices_withheld", "Devices found but not offered, by reason.", {"code"})),
      driver_up(registry.AddGauge("tessera_nvidia_driver_up", "1 while the NVIDIA driver answers.")),
      scans(registry.AddCounter("tessera_hardware_scans_total", "Reads of the hardware.", {"outcome"})),
      foreign_holders(registry.AddGauge("tessera_device_plugin_gpus", "GPUs that pods hold through a device plugin.")),
      device_conflicts(registry.AddGauge("tessera_device_conflicts",
                                         "GPUs that a claim and a device-plugin pod hold at the same time.")),
      reconciled(registry.AddCounter("tessera_reconciled_total", "Differences that reconciling repaired.", {"action"})),
      events(registry.AddCounter("tessera_events_total", "Kubernetes Events by what became of them.", {"outcome"})),
      health_state(registry.AddGauge("tessera_device_health_state", "1 for the state that each device is in.",
                                     {"device", "uuid", "state"})),
      health_reason(registry.AddGauge("tessera_device_health_reason", "1 for each reason against a device.",
                                      {"device", "reason", "severity"})),
      health_transitions(registry.AddCounter("tessera_device_health_transitions_total",
                                             "Changes of devices' states, by the new one.", {"device", "to"})),
      health_signal_age(registry.AddGauge("tessera_device_health_signal_age_seconds",
                                          "Time since something was heard of the device's GPU.", {"device"})),
      health_signals_dropped(registry.AddCounter("tessera_health_signals_dropped_total",
                                                 "Signals that came too fast to be looked at one by one.")),
      health_streams(registry.AddGauge("tessera_health_streams", "Health streams that kubelets have open.")),
      xids(registry.AddCounter("tessera_xids_total", "Xids that the NVIDIA driver reported.", {"uuid", "xid"})),
      go_requests(
          registry.AddCounter("nvidia_dra_requests_total", "Requests that succeeded.", {"driver", "operation"})),
      go_duration(registry.AddHistogram("nvidia_dra_request_duration_seconds", "Duration of requests that succeeded.",
                                        GoBounds(), {"driver", "operation"})),
      go_in_flight(registry.AddGauge("nvidia_dra_requests_inflight", "Requests under way.", {"driver", "operation"})),
      go_prepared(
          registry.AddGauge("nvidia_dra_prepared_devices", "Prepared devices.", {"node", "driver", "device_type"})),
      go_prepare_errors(
          registry.AddCounter("nvidia_dra_node_prepare_errors_total", "Failed prepares.", {"driver", "error_type"})),
      go_unprepare_errors(registry.AddCounter("nvidia_dra_node_unprepare_errors_total", "Failed unprepares.",
                                              {"driver", "error_type"})),
      node_name_(node_name) {
  metrics::AddProcessMetrics(registry);
  registry.AddGauge("tessera_build_info", "The running version; always 1.", {"version"})
      .With({std::string(version)})
      .Set(1);
  for (const Method method : {Method::kPrepare, Method::kUnprepare}) {
    const std::string operation(ToString(method));
    in_flight.With({operation});
    go_requests.With({kDriver, operation});
    go_in_flight.With({kDriver, operation});
  }
  SetPrepared(0, 0);
}

void Metrics::Observe(Method method, Phase phase, bool ok, std::chrono::steady_clock::duration took) {
  const std::size_t place =
      (static_cast<std::size_t>(method) * kPhases + static_cast<std::size_t>(phase)) * 2 + (ok ? 1 : 0);
  std::atomic<metrics::Histogram*>& series = durations_.at(place);
  metrics::Histogram* found = series.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = &duration.With({std::string(ToString(method)), std::string(ToString(phase)), ok ? "ok" : "error"});
    series.store(found, std::memory_order_release);
  }
  found->Observe(Seconds(took));
}

void Metrics::Started(Method method) {
  const std::string operation(ToString(method));
  in_flight.With({operation}).Add(1);
  go_in_flight.With({kDriver, operation}).Add(1);
}

void Metrics::Finished(Method method, std::chrono::steady_clock::duration took, const Error* error) {
  const std::string operation(ToString(method));
  in_flight.With({operation}).Add(-1);
  go_in_flight.With({kDriver, operation}).Add(-1);
  Observe(method, Phase::kTotal, error == nullptr, took);
  if (error == nullptr) {
    go_requests.With({kDriver, operation}).Add();
    go_duration.With({kDriver, operation}).Observe(Seconds(took));
    return;
  }
  errors.With({operation, std::string(error->code()), std::string(tessera::ToString(error->kind()))}).Add();
  const std::string type = error->code() == "LeaseTimeout" ? "lock_acquire" : operation + "_devices";
  (method == Method::kPrepare ? go_prepare_errors : go_unprepare_errors).With({kDriver, type}).Add();
}

void Metrics::SetPrepared(double gpus, double migs) {
  prepared.With({"gpu"}).Set(gpus);
  prepared.With({"mig"}).Set(migs);
  go_prepared.With({node_name_, kDriver, "gpu"}).Set(gpus);
  go_prepared.With({node_name_, kDriver, "mig"}).Set(migs);
}

}  // namespace tessera::driver
