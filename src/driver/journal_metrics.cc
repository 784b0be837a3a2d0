#include "driver/journal_metrics.h"

#include <string>
#include <vector>

namespace tessera::driver {
namespace {

void ShowDevice(const api::PreparedClaim& claim, const api::PreparedDevice& device, Metrics& metrics) {
  const auto& mig = device.hardware.mig;
  const std::vector<std::string> none{""};
  for (const std::string& pod : claim.pods.empty() ? none : claim.pods) {
    metrics.claim_info
        .With({claim.claim.namespace_name, claim.claim.name, claim.claim.uid, pod, device.name, mig ? "mig" : "gpu",
               mig ? mig->uuid : device.hardware.gpu_uuid, mig ? device.hardware.gpu_uuid : ""})
        .Set(1);
  }
}

}  // namespace

void ShowJournal(journal::Journal& journal, Metrics& metrics) {
  const journal::Stats stats = journal.stats();
  (*metrics.journal_bytes).Set(static_cast<double>(stats.bytes));
  (*metrics.journal_claims).Set(static_cast<double>(stats.claims));
  (*metrics.journal_syncs).Follow(static_cast<double>(stats.syncs));
  (*metrics.journal_recoveries).Follow(static_cast<double>(stats.recoveries));
  (*metrics.journal_write_failures).Follow(static_cast<double>(stats.write_failures));
  double gpus = 0;
  double migs = 0;
  metrics.claim_info.Clear();
  for (const journal::ClaimPtr& claim : journal.All()) {
    for (const api::PreparedDevice& device : claim->devices) {
      (device.hardware.mig ? migs : gpus) += 1;
      ShowDevice(*claim, device, metrics);
    }
  }
  metrics.SetPrepared(gpus, migs);
}

}  // namespace tessera::driver
