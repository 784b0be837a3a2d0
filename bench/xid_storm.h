// bench/xid_storm.h: very many Xids on all GPUs of a simulated machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "sim/store.h"

namespace tessera::bench {

// Plays Xids from its construction until End(), in small bursts: the GPUs in turn, faults of applications and of hardware
// mixed, none of which makes Prepare refuse a device.
class XidStorm {
 public:
  XidStorm(sim::Store& store, std::size_t a_second);
  XidStorm(XidStorm&&) = delete;

  struct Total {
    double xids = 0, seconds = 0;
  };
  Total End();

 private:
  void Run(const std::stop_token& stop);
  double Lasted() const;  // Seconds.

  sim::Store& store_;
  const std::size_t a_second_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t played_ = 0;  // Of the thread alone, until End() has joined it.
  std::jthread thread_{[this](const std::stop_token& stop) { Run(stop); }};  // Last: joins first.
};

}  // namespace tessera::bench
