#include "driver/health_events.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::driver {
namespace {

bool IsSuspicion(const health::ReasonReport& reason) { return reason.phase == health::Phase::kSuspect && !reason.held; }

}  // namespace

void HealthEvents::SetActive(bool active) {
  const std::lock_guard lock(mutex_);
  if (active == active_) return;
  active_ = active;
  told_.clear();  // Another instance told of them meanwhile, or will.
  TellNews();
}

void HealthEvents::OnReport(NodeHealth report) {
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  TellNews();
}

void HealthEvents::TellNews() {
  if (!active_ || !report_) return;
  std::map<Key, News> news;
  for (const health::DeviceHealth& device : *report_) Collect(device, news);
  std::erase_if(told_, [&](const auto& item) {
    return item.second.empty() ||
           std::ranges::find(*report_, item.first, &health::DeviceHealth::uuid) == report_->end();
  });
  for (const auto& [key, found] : news) Tell(key.first, found);
}

void HealthEvents::Collect(const health::DeviceHealth& device, std::map<Key, News>& news) {
  const auto add = [&](EventType type, const std::string& code, const std::string& text) {
    News& found = news[{device.gpu_uuid, code}];
    found.type = type;
    found.code = code;
    found.text = text;
    found.devices.push_back(device.device);
    found.uuids.push_back(device.uuid);
  };
  std::set<std::string>& told = told_[device.uuid];
  for (const health::ReasonReport& reason : device.reasons) {
    if (IsSuspicion(reason) || !told.insert(reason.code).second) continue;
    if (reason.phase == health::Phase::kRecovering) continue;  // Told before the plugin was started.
    add(EventType::kWarning, reason.code, Format("{}. {}", reason.sentence, reason.next));
  }
  if (!device.reasons.empty() || told.empty()) return;
  add(EventType::kNormal, "DeviceRecovered",
      Format("healthy again after {}", Join(std::vector(told.begin(), told.end()), ", ")));
  told.clear();
}

// The Node first: when more is told than Events are allowed, what is left has the whole picture.
void HealthEvents::Tell(const std::string& gpu_uuid, const News& news) {
  events_.Post(NodeTarget(node_name_), news.type, news.code,
               Format("{} ({}): {}", Join(news.devices, ", "), gpu_uuid, news.text));
  for (const journal::ClaimPtr& claim : journal_.HoldersOf(gpu_uuid)) {
    std::vector<std::string> held;
    for (const api::PreparedDevice& device : claim->devices) {
      const bool hit = std::ranges::find(news.uuids, DeviceUuid(device.hardware)) != news.uuids.end();
      if (hit && !device.admin_access) held.push_back(device.name);
    }
    if (held.empty()) continue;
    events_.Post(ClaimTarget(claim->claim), news.type, news.code,
                 Format("{} ({}): {}", Join(held, ", "), gpu_uuid, news.text));
  }
}

}  // namespace tessera::driver
