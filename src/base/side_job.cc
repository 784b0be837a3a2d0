#include "base/side_job.h"

#include <tuple>

namespace tessera {

SideJob::SideJob(WorkPool& pool, std::function<void()> work) : state_(std::make_shared<State>(std::move(work))) {
  std::ignore = pool.Submit([state = state_] { state->Do(); });  // A pool without room leaves it to Finish().
}

void SideJob::Finish() {
  state_->Do();
  state_->done.wait(false);
}

void SideJob::State::Do() {
  if (begun.exchange(true)) return;
  work();
  done = true;
  done.notify_all();
}

}  // namespace tessera
