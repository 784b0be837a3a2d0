// metrics/registry.h: counters, gauges and histograms, and the Prometheus text they print. Start here.
//
//   metrics::Registry registry;
//   auto& errors = registry.AddCounter("tessera_errors_total", "Errors by code.", {"code", "kind"});
//   errors.With({"GpuLost", "permanent-device"}).Add();
//   std::string text = registry.Print();
//
// A family lives as long as its registry. Safe to call from any thread; counting takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::metrics {

using Labels = std::vector<std::string>;  // Values, in the order of the family's names.

class Counter {
 public:
  void Add(double by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  void Follow(double total) { value_.store(total, std::memory_order_relaxed); }  // What is counted elsewhere.
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Buckets count what is at most their bound; +Inf is implied.
class Histogram {
 public:
  explicit Histogram(const std::vector<double>& bounds);
  void Observe(double value);
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  friend class Printer;
  const std::vector<double>& bounds_;
  std::vector<std::atomic<std::uint64_t>> buckets_;  // One more than bounds: +Inf. Not cumulative.
  std::atomic<std::uint64_t> count_{0};
  std::atomic<double> sum_{0};
};

// All series of one name. The number of series is bounded: beyond kMaxSeries a new label set shares one series whose
// values are all "other", so that foreign input cannot grow memory.
template <class Metric>
class Family {
 public:
  Metric& With(const Labels& labels);       // Made on first use.
  Metric& operator*() { return With({}); }  // Of a family without labels.
  void Clear();                             // Forgets all series: for info series that are set anew.

 private:
  friend class Registry;
  friend class Printer;
  Family(std::string name, std::string help, std::vector<std::string> label_names, std::vector<double> bounds = {});
  const std::string name_, help_;
  const std::vector<std::string> label_names_;
  const std::vector<double> bounds_;
  mutable std::mutex mutex_;  // Guards the map, not the metrics in it.
  std::map<Labels, std::unique_ptr<Metric>> series_;
};

inline constexpr std::size_t kMaxSeries = 10'000;

class Registry {
 public:
  Registry();
  ~Registry();

  // Names are literals of ours: a bad or a repeated one aborts.
  Family<Counter>& AddCounter(const std::string& name, std::string help, std::vector<std::string> labels = {});
  Family<Gauge>& AddGauge(const std::string& name, std::string help, std::vector<std::string> labels = {});
  Family<Histogram>& AddHistogram(const std::string& name, std::string help, std::vector<double> bounds,
                                  std::vector<std::string> labels = {});
  // Called before each Print(): sets what is cheaper to read than to keep (process metrics, journal size).
  void OnPrint(std::function<void()> refresh);

  // Prometheus text format 0.0.4: families by name, series by label values, HELP and TYPE once.
  std::string Print() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_max_fds,
// process_start_time_seconds, process_virtual_memory_bytes, process_threads.
void AddProcessMetrics(Registry& registry);

}  // namespace tessera::metrics
