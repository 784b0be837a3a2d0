// kubelet/test_peer.h: both ends of the plugin's sockets for tests: a handler with a script, and a kubelet's calls.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <proto/dra_v1.grpc.pb.h>
#include <proto/dra_v1beta1.grpc.pb.h>
#include <proto/plugin_registration.grpc.pb.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

inline constexpr std::chrono::seconds kPatience{20};  // Far more than anything here takes, also under sanitizers.

// Waits for what another thread or process does.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Answers each call with `answer`, or keeps it until Release().
class ScriptedHandler final : public ClaimHandler {
 public:
  struct Call {
    std::vector<api::ClaimRef> claims;
    Deadline deadline;
    Done done;
  };

  std::function<Answers(const std::vector<api::ClaimRef>&)> answer = AnswerAll;
  std::atomic<bool> hold = false;

  static Answers AnswerAll(const std::vector<api::ClaimRef>& claims) {
    Answers answers;
    for (const api::ClaimRef& claim : claims) answers.push_back({.uid = claim.uid});
    return answers;
  }

  void Prepare(std::vector<api::ClaimRef> claims, Deadline deadline, Done done) override {
    Take({std::move(claims), deadline, std::move(done)});
  }
  void Unprepare(std::vector<api::ClaimRef> claims, Deadline deadline, Done done) override {
    Take({std::move(claims), deadline, std::move(done)});
  }

  // Waits until `count` calls are held.
  bool WaitForHeld(std::size_t count) {
    return Eventually([&] {
      const std::lock_guard lock(mutex_);
      return held_.size() >= count;
    });
  }
  std::vector<Call> TakeHeld() {
    const std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }
  void Release() {
    for (const Call& call : TakeHeld()) call.done(answer(call.claims), {});
  }
  std::vector<std::vector<api::ClaimRef>> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void Take(Call call) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(call.claims);
      if (hold) return held_.push_back(std::move(call));
    }
    call.done(answer(call.claims), {});
  }

  mutable std::mutex mutex_;
  std::vector<std::vector<api::ClaimRef>> asked_;
  std::vector<Call> held_;
};

inline std::shared_ptr<grpc::Channel> Connect(const std::filesystem::path& socket, const std::string& authority = {}) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments);
}

// Sets a deadline, so that a broken server fails a test instead of hanging it.
class Context : public grpc::ClientContext {
 public:
  explicit Context(std::chrono::milliseconds timeout = kPatience) {
    set_deadline(std::chrono::system_clock::now() + timeout);
    set_wait_for_ready(false);
  }
};

// A plugin server in a temporary directory.
class PluginTest : public ::testing::Test {
 protected:
  PluginTest() {
    std::filesystem::create_directories(options_.registry);
    std::filesystem::create_directories(options_.directory);
  }

  void Start() {
    auto server = PluginServer::Start(options_, handler_);
    ASSERT_TRUE(server.has_value()) << server.error().Text();
    server_ = std::move(*server);
    paths_ = MakeSocketPaths(options_).value();
  }

  template <class Request = dra_v1::NodePrepareResourcesRequest>
  static Request Ask(const std::vector<std::string>& uids) {
    Request request;
    for (const std::string& uid : uids) {
      auto& claim = *request.add_claims();
      claim.set_namespace_("default");
      claim.set_name("claim-" + uid);
      claim.set_uid(uid);
    }
    return request;
  }

  std::pair<grpc::Status, dra_v1::NodePrepareResourcesResponse> Prepare(const std::vector<std::string>& uids,
                                                                        std::chrono::milliseconds timeout = kPatience) {
    Context context(timeout);
    dra_v1::NodePrepareResourcesResponse response;
    dra_v1::DRAPlugin::Stub stub(Connect(paths_.service));
    const grpc::Status status = stub.NodePrepareResources(&context, Ask(uids), &response);
    return {status, response};
  }

  TempDir dir_ = TempDir::Create("kubelet").value();
  PluginOptions options_{.driver_name = "gpu.nvidia.com",
                         .registry = dir_.path() / "plugins_registry",
                         .directory = dir_.path() / "plugins",
                         .refused_delay = std::chrono::milliseconds(20)};
  SocketPaths paths_;
  ScriptedHandler handler_;
  std::unique_ptr<PluginServer> server_;  // Last: it uses the handler.
};

}  // namespace tessera::kubelet
