// kubelet/claim_calls.h: the Prepare and Unprepare calls under way, each finished exactly once.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

class ClaimCalls;

// One call. It ends with the handler's answer, with the client's cancel or with our end, whichever comes first; the
// others then change nothing. Owns itself until gRPC is done with it; the handler's `done` may outlive that.
class ClaimCall final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<ClaimCall> {
 public:
  using Fill = std::function<void(Answers)>;  // Writes the response; not called after the call has ended.

  // Must be followed by Hold().
  ClaimCall(std::shared_ptr<ClaimCalls> calls, Fill fill) : calls_(std::move(calls)), fill_(std::move(fill)) {}

  // From here on the reactor belongs to gRPC, until OnDone().
  grpc::ServerUnaryReactor* Hold();
  // What the handler is given: answers on its first call. When it is dropped without one, no claim was answered.
  Done MakeDone();
  void End(const grpc::Status& status);

 private:
  void Answer(Answers answers, std::function<void()> afterwards);
  void OnCancel() override { End(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away")); }
  void OnDone() override;

  const std::shared_ptr<ClaimCalls> calls_;
  const Fill fill_;
  std::atomic<bool> ended_ = false;   // Who sets it may touch the response and call Finish().
  std::function<void()> afterwards_;  // Set before Finish(), run by OnDone().
  std::shared_ptr<ClaimCall> self_;
};

// All calls whose handler has not answered. Safe to call from any thread; outlives the server with the last call.
class ClaimCalls : public std::enable_shared_from_this<ClaimCalls> {
 public:
  static constexpr std::size_t kMaxCalls = 256;  // More are answered RESOURCE_EXHAUSTED.

  // Starts a call: `start` hands it to the handler. Refuses it when stopping or full.
  grpc::ServerUnaryReactor* Begin(ClaimCall::Fill fill, const std::function<void(Done)>& start);
  // Only refuses.
  static grpc::ServerUnaryReactor* Refuse(const grpc::Status& status);

  // New calls are answered UNAVAILABLE from now on.
  void Stop();
  // Waits for the handlers' answers.
  void WaitUntilIdle(std::chrono::milliseconds grace);
  // Answers UNAVAILABLE to what still runs.
  void EndAll();

 private:
  friend class ClaimCall;
  grpc::Status Admit(const std::shared_ptr<ClaimCall>& call);
  void Remove(const ClaimCall* call);

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::unordered_map<const ClaimCall*, std::shared_ptr<ClaimCall>> running_;
  bool stopping_ = false;
};

}  // namespace tessera::kubelet
