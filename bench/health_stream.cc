#include "bench/health_stream.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "kubelet/grpc_client.h"

namespace tessera::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

std::unique_ptr<v1::DRAResourceHealth::Stub> Dial(const std::filesystem::path& socket) {
  auto channel = kubelet::OpenChannel(socket);
  if (!channel) Abort(channel.error().Text());
  return v1::DRAResourceHealth::NewStub(*channel);
}

}  // namespace

HealthStream::HealthStream(const std::filesystem::path& socket)
    : plugin_(Dial(socket)), reader_([this](const std::stop_token&) { Read(); }) {}

HealthStream::~HealthStream() { context_.TryCancel(); }

void HealthStream::Read() {
  const auto reader = plugin_->NodeWatchResources(&context_, {});
  for (v1::NodeWatchResourcesResponse report; reader->Read(&report);) {
    const Time now = steady_clock::now();
    const std::lock_guard lock(mutex_);
    for (const auto& device : report.devices()) {
      Known& known = known_[device.device().device_name()];
      if (known.health != device.health()) known = {.health = device.health(), .since = now};
    }
    changed_.notify_all();
  }
}

HealthStream::Time HealthStream::WaitFor(const std::vector<std::string>& devices, v1::HealthStatus health) {
  std::unique_lock lock(mutex_);
  const bool told = changed_.wait_for(lock, kPatience, [&] {
    return std::ranges::all_of(devices, [&](const auto& device) { return known_[device].health == health; });
  });
  if (!told) Abort(Format("{} was never reported as {}", Join(devices, ", "), v1::HealthStatus_Name(health)));
  Time last;
  for (const std::string& device : devices) last = std::max(last, known_[device].since);
  return last;
}

}  // namespace tessera::bench
