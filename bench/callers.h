// bench/callers.h: what a kubelet and its disk do, from several threads at once, with the time each step took.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "tests/standin/kubelet.h"

namespace tessera::bench {

// Durations of one kind of step.
class Samples {
 public:
  void Add(std::chrono::steady_clock::duration took) { micros_.push_back(Micros(took)); }
  void Add(const Samples& other) { micros_.insert(micros_.end(), other.micros_.begin(), other.micros_.end()); }
  double Percentile(double percent) const;  // In microseconds; 0 without samples.
  std::size_t size() const { return micros_.size(); }

 private:
  static double Micros(std::chrono::steady_clock::duration took) {
    return std::chrono::duration<double, std::micro>(took).count();
  }
  std::vector<double> micros_;
};

// One caller with connections and a file of its own. Used by one thread at a time. A step that fails ends the program:
// a measurement of failures is none.
class Caller {
 public:
  struct Places {
    std::filesystem::path kubeconfig;
    std::filesystem::path socket;       // The plugin's DRA socket.
    std::filesystem::path append_file;  // Beside the plugin's journal, made new.
  };
  explicit Caller(const Places& places);
  ~Caller();
  Caller(Caller&&) noexcept;

  // The floor: what no Prepare can do without.
  void GetObject(const std::string& path);  // From the API server, over a kept connection.
  void AppendAndSync();                     // As long as a journal's record.
  void CallEmpty();                         // Prepare without claims.

  void Prepare(const tests::Kubelet::Claim& claim);
  void Unprepare(const tests::Kubelet::Claim& claim);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Runs `work` for each caller on a thread of its own. All begin at the same time.
void AllAtOnce(std::vector<Caller>& callers, const std::function<void(std::size_t index, Caller& caller)>& work);

}  // namespace tessera::bench
