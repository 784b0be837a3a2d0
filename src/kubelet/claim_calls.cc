#include "kubelet/claim_calls.h"

#include "base/text.h"

namespace tessera::kubelet {
namespace {

grpc::Status ShuttingDown() { return {grpc::StatusCode::UNAVAILABLE, "the driver is shutting down"}; }

}  // namespace

grpc::ServerUnaryReactor* ClaimCall::Hold() {
  self_ = shared_from_this();
  return this;
}

Done ClaimCall::MakeDone() {
  struct Ticket {
    explicit Ticket(std::shared_ptr<ClaimCall> c) : call(std::move(c)) {}
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() { call->Answer({}, {}); }
    const std::shared_ptr<ClaimCall> call;
  };
  return [ticket = std::make_shared<Ticket>(shared_from_this())](Answers answers, std::function<void()> afterwards) {
    ticket->call->Answer(std::move(answers), std::move(afterwards));
  };
}

void ClaimCall::Answer(Answers answers, std::function<void()> afterwards) {
  if (!ended_.exchange(true)) {
    afterwards_ = std::move(afterwards);
    fill_(std::move(answers));
    Finish(grpc::Status::OK);
  } else if (afterwards) {
    afterwards();
  }
  calls_->Remove(this);
}

void ClaimCall::OnDone() {
  if (afterwards_) afterwards_();
  self_.reset();
}

void ClaimCall::End(const grpc::Status& status) {
  if (!ended_.exchange(true)) Finish(status);
}

grpc::ServerUnaryReactor* ClaimCalls::Begin(ClaimCall::Fill fill, const std::function<void(Done)>& start) {
  const auto call = std::make_shared<ClaimCall>(shared_from_this(), std::move(fill));
  grpc::ServerUnaryReactor* reactor = call->Hold();
  if (const grpc::Status status = Admit(call); status.ok()) {
    start(call->MakeDone());
  } else {
    call->End(status);
  }
  return reactor;
}

grpc::ServerUnaryReactor* ClaimCalls::Refuse(const grpc::Status& status) {
  const auto call = std::make_shared<ClaimCall>(nullptr, ClaimCall::Fill());
  grpc::ServerUnaryReactor* reactor = call->Hold();
  call->End(status);
  return reactor;
}

void ClaimCalls::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

void ClaimCalls::WaitUntilIdle(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, grace, [this] { return running_.empty(); });
}

void ClaimCalls::EndAll() {
  std::unordered_map<const ClaimCall*, std::shared_ptr<ClaimCall>> running;
  {
    const std::lock_guard lock(mutex_);
    running.swap(running_);
  }
  for (const auto& [key, call] : running) call->End(ShuttingDown());
}

grpc::Status ClaimCalls::Admit(const std::shared_ptr<ClaimCall>& call) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return ShuttingDown();
  if (running_.size() >= kMaxCalls) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, Format("{} calls are under way already", kMaxCalls)};
  }
  running_.emplace(call.get(), call);
  return grpc::Status::OK;
}

void ClaimCalls::Remove(const ClaimCall* call) {
  const std::lock_guard lock(mutex_);
  running_.erase(call);
  if (running_.empty()) changed_.notify_all();
}

}  // namespace tessera::kubelet
