// base/work_pool.h: threads for work that blocks: file locks, disks, the network.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera {

// Runs jobs on at most `max_threads` threads. Threads are started when all others are busy and leave after `idle`, so
// that an idle agent has none. Safe to call from any thread.
class WorkPool {
 public:
  struct Options {
    std::string name;  // Shown by ps -T and debuggers; at most 15 bytes.
    std::size_t max_threads = 8;
    std::size_t max_waiting = 1024;  // Beyond it Submit() refuses.
    std::chrono::milliseconds idle{10'000};
  };
  explicit WorkPool(Options options) : options_(std::move(options)) {}
  ~WorkPool();  // Runs what was submitted, then joins.

  // False when too many jobs wait: the caller rejects.
  [[nodiscard]] bool Submit(std::function<void()> job);

 private:
  void Run();
  void Reap();

  const Options options_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread::id> finished_;  // Threads that left and wait to be joined.
  std::vector<std::thread> threads_;
};

}  // namespace tessera
