// base/side_job.h: work that another thread may do while this one waits for something else.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/work_pool.h"

namespace tessera {

// Whoever comes first does it: a thread of the pool, or Finish(). So it is never later than if it had been done here.
class SideJob {
 public:
  SideJob(WorkPool& pool, std::function<void()> work);
  SideJob(const SideJob&) = delete;
  SideJob& operator=(const SideJob&) = delete;
  ~SideJob() { Finish(); }  // What the work refers to must outlive this.

  // Returns when it is done.
  void Finish();

 private:
  struct State {
    std::function<void()> work;
    std::atomic<bool> begun = false, done = false;
    void Do();
  };
  const std::shared_ptr<State> state_;  // A pool that comes too late still looks at it.
};

}  // namespace tessera
