#include "base/work_pool.h"

#include <pthread.h>

#include <algorithm>

namespace tessera {

WorkPool::~WorkPool() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool WorkPool::Submit(std::function<void()> job) {
  bool has_idle = false;
  {
    const std::lock_guard lock(mutex_);
    Reap();
    if (stopping_ || jobs_.size() >= options_.max_waiting) return false;
    jobs_.push_back(std::move(job));
    has_idle = jobs_.size() <= idle_;
    if (!has_idle && threads_.size() < options_.max_threads) threads_.emplace_back([this] { Run(); });
  }
  if (has_idle) changed_.notify_one();  // The woken thread takes the lock first thing.
  return true;
}

void WorkPool::Reap() {
  std::erase_if(threads_, [this](std::thread& thread) {
    const bool gone = std::ranges::find(finished_, thread.get_id()) != finished_.end();
    if (gone) thread.join();
    return gone;
  });
  finished_.clear();
}

void WorkPool::Run() {
  ::pthread_setname_np(::pthread_self(), options_.name.substr(0, 15).c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    if (jobs_.empty()) {
      if (stopping_) return;
      ++idle_;
      const bool woken = changed_.wait_for(lock, options_.idle, [this] { return stopping_ || !jobs_.empty(); });
      --idle_;
      if (!woken) return finished_.push_back(std::this_thread::get_id());
      continue;
    }
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // What it captured goes without the lock.
    lock.lock();
  }
}

}  // namespace tessera
