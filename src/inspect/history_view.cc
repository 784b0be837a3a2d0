#include "inspect/history_view.h"

#include <chrono>
#include <ranges>

#include "base/clock.h"
#include "base/text.h"
#include "inspect/table.h"
#include "json/value.h"

namespace tessera::inspect {
namespace {

std::string TimeText(std::int64_t seconds) {
  return Rfc3339(std::chrono::system_clock::time_point(std::chrono::seconds(seconds)));
}

Tone ToneOf(health::Health health) {
  switch (health) {
    case health::Health::kHealthy:
      return Tone::kGood;
    case health::Health::kUnhealthy:
      return Tone::kBad;
    case health::Health::kUnknown:
      break;
  }
  return Tone::kFaint;
}

std::string RenderTable(const health::History& history, bool wide, bool color) {
  if (history.claims.empty()) return "No claim that ended is remembered.\n";
  std::vector<std::string> header{"FINISHED", "CLAIM", "DEVICE", "HEALTH", "MESSAGE"};
  if (wide) header.insert(header.end() - 1, {"STATE", "DEVICE UUID", "CLAIM UID"});
  Table table(header);
  for (const health::PastClaim& claim : history.claims | std::views::reverse) {
    for (const health::PastDevice& device : claim.devices) {
      std::vector<Cell> row{{TimeText(claim.finished)},
                            {Format("{}/{}", claim.claim_namespace, claim.name)},
                            {device.device},
                            {health::ToText(device.health), ToneOf(device.health)}};
      if (wide) row.insert(row.end(), {{health::ToText(device.state)}, {device.uuid}, {claim.uid}});
      row.push_back({device.message.empty() ? "-" : device.message});
      table.Add(std::move(row));
    }
  }
  return table.Print(color);
}

json::Value ToJson(const health::History& history) {
  json::Array claims;
  for (const health::PastClaim& claim : history.claims | std::views::reverse) {
    json::Array devices;
    for (const health::PastDevice& device : claim.devices) {
      devices.push_back(json::Object{{"device", device.device},
                                     {"uuid", device.uuid},
                                     {"state", health::ToText(device.state)},
                                     {"health", health::ToText(device.health)},
                                     {"message", device.message}});
    }
    claims.push_back(json::Object{{"namespace", claim.claim_namespace},
                                  {"name", claim.name},
                                  {"uid", claim.uid},
                                  {"finished", TimeText(claim.finished)},
                                  {"devices", std::move(devices)}});
  }
  return json::Object{{"claims", std::move(claims)}};
}

}  // namespace

std::string RenderHistory(const health::History& history, const DevicesView& view) {
  switch (view.format) {
    case DevicesFormat::kJson:
      return json::PrintJson(ToJson(history), 2) + "\n";
    case DevicesFormat::kYaml:
      return json::PrintYaml(ToJson(history));
    case DevicesFormat::kWide:
      return RenderTable(history, true, view.color);
    case DevicesFormat::kTable:
    case DevicesFormat::kSlices:
      break;
  }
  return RenderTable(history, false, view.color);
}

}  // namespace tessera::inspect
