#include "bench/xid_storm.h"

#include <array>
#include <vector>

#include "nvml/abi.h"

namespace tessera::bench {
namespace {

constexpr std::chrono::milliseconds kBurst{20};
constexpr std::array<std::uint64_t, 8> kCodes{13, 31, 43, 45, 63, 74, 94, 119};

}  // namespace

XidStorm::XidStorm(sim::Store& store, std::size_t a_second) : store_(store), a_second_(a_second) {}

XidStorm::Total XidStorm::End() {
  thread_.request_stop();
  thread_.join();
  return {.xids = static_cast<double>(played_), .seconds = Lasted()};
}

double XidStorm::Lasted() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void XidStorm::Run(const std::stop_token& stop) {
  const auto machine = store_.Read();
  if (!machine) Abort(machine.error().Text());
  const std::vector<sim::Gpu>& gpus = (*machine)->gpus;
  for (auto next = start_;; std::this_thread::sleep_until(next += kBurst)) {
    const bool last = stop.stop_requested();
    // What is due by now: a burst that came late is made up for.
    const auto due = static_cast<std::uint64_t>(Lasted() * static_cast<double>(a_second_));
    std::vector<sim::Event> burst;
    for (std::uint64_t i = played_; i < due; ++i) {
      burst.push_back({.minor = gpus[i % gpus.size()].minor,
                       .type = nvml::abi::kEventXidCritical,
                       .data = kCodes[i / gpus.size() % kCodes.size()]});
    }
    if (const auto emitted = store_.EmitAll(burst); !emitted) Abort(emitted.error().Text());
    played_ += burst.size();
    if (last) return;
  }
}

}  // namespace tessera::bench
