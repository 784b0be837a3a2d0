#include "driver/refusals.h"

#include "base/text.h"
#include "device/slices.h"
#include "json/value.h"

namespace tessera::driver {
namespace {

// Each part ends in a line break, which none of them has: names are DNS labels, and JSON is printed on one line.
void Part(std::string& question, std::string_view part) {
  question += part;
  question += '\n';
}

void AddDriver(std::string& question, const HardwareState& hardware) {
  Part(question, hardware.snapshot->driver_version);
  Part(question, hardware.base_error ? hardware.base_error->Text() : "");
}

void AddDevice(std::string& question, std::string_view name, const HardwareState& hardware, const HealthWords& health) {
  Part(question, name);
  Part(question, health(name));
  const auto found = hardware.by_name.find(name);
  if (found != hardware.by_name.end()) {
    const device::Device& device = *found->second;
    return Part(question, Format("{} {} {}", device.gpu.uuid, device.gpu.minor, device.mig ? device.mig->uuid : ""));
  }
  for (const device::Withheld& withheld : hardware.snapshot->withheld) {
    if (withheld.name == name) return Part(question, withheld.reason);
  }
  Part(question, "absent");
}

}  // namespace

std::string QuestionOf(const api::Allocation& allocation, const HardwareState& hardware, const HealthWords& health) {
  std::string question;
  AddDriver(question, hardware);
  for (const api::AllocationResult& result : allocation.results) {
    if (result.driver != device::kDriverName) continue;
    Part(question,
         Format("{} {} {} {}", result.request, result.pool, result.admin_access, result.share_id.value_or("")));
    AddDevice(question, result.device, hardware, health);
  }
  for (const api::AllocationConfig& config : allocation.configs) {
    if (config.driver != device::kDriverName) continue;
    Part(question, Join(config.requests, " "));
    Part(question, json::PrintJson(config.parameters));
  }
  return question;
}

std::string QuestionOf(const api::PreparedClaim& record, const HardwareState& hardware, const HealthWords& health) {
  std::string question = "prepared\n";
  AddDriver(question, hardware);
  for (const api::PreparedDevice& device : record.devices) {
    Part(question, Format("{} {}", device.hardware.gpu_uuid, device.hardware.mig ? device.hardware.mig->uuid : ""));
    AddDevice(question, device.name, hardware, health);
  }
  return question;
}

std::optional<Error> Refusals::Find(const std::string& question) const {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(question);
  if (found == answers_.end() || clock_.Monotonic() - found->second.given > kMaxAge) return std::nullopt;
  return found->second.error;
}

void Refusals::Add(const std::string& question, const Error& answer) {
  if (question.size() > kMaxQuestion) return;
  const std::lock_guard lock(mutex_);
  if (!answers_.insert_or_assign(question, Answer{answer, clock_.Monotonic()}).second) return;
  order_.push_back(question);
  if (order_.size() > limit_) {
    answers_.erase(order_.front());
    order_.pop_front();
  }
  empty_.store(false, std::memory_order_relaxed);
}

}  // namespace tessera::driver
