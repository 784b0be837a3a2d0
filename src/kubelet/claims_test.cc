#include <gmock/gmock.h>

#include <atomic>

#include "base/text.h"
#include "kubelet/answers.h"
#include "kubelet/dra_service.h"
#include "kubelet/test_peer.h"

namespace tessera::kubelet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

api::PreparedDevice SomeDevice() {
  return {.requests = {"gpu"},
          .pool = "node-a",
          .name = "gpu-0",
          .share_id = "share-1",
          .cdi_ids = {"k8s.gpu.nvidia.com/claim=u-gpu-0"}};
}

Answers Fail(const std::vector<api::ClaimRef>& claims, const Error& error) {
  Answers answers;
  for (const api::ClaimRef& claim : claims) answers.push_back({.uid = claim.uid, .error = error});
  return answers;
}

class ClaimsTest : public PluginTest {
 protected:
  dra_v1beta1::NodePrepareResourcesResponse PrepareBeta(const std::vector<std::string>& uids) {
    Context context;
    dra_v1beta1::NodePrepareResourcesResponse response;
    dra_v1beta1::DRAPlugin::Stub stub(Connect(paths_.service));
    const grpc::Status status =
        stub.NodePrepareResources(&context, Ask<dra_v1beta1::NodePrepareResourcesRequest>(uids), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(ClaimsTest, PreparedDevicesReachTheKubelet) {
  handler_.answer = [](const auto& claims) { return Answers{{.uid = claims.front().uid, .devices = {SomeDevice()}}}; };
  Start();
  const auto [status, response] = Prepare({"a"});
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.claims().at("a").devices_size(), 1);
  const dra_v1::Device& device = response.claims().at("a").devices(0);
  EXPECT_THAT(device.request_names(), ElementsAre("gpu"));
  EXPECT_EQ(device.pool_name(), "node-a");
  EXPECT_EQ(device.device_name(), "gpu-0");
  EXPECT_THAT(device.cdi_device_ids(), ElementsAre("k8s.gpu.nvidia.com/claim=u-gpu-0"));
  EXPECT_EQ(device.share_id(), "share-1");
  EXPECT_THAT(handler_.asked(), ElementsAre(ElementsAre(api::ClaimRef{"default", "claim-a", "a"})));

  const auto beta = PrepareBeta({"a"});
  ASSERT_EQ(beta.claims().at("a").devices_size(), 1);
  EXPECT_EQ(beta.claims().at("a").devices(0).device_name(), "gpu-0");
  EXPECT_THAT(beta.SerializeAsString(), Not(HasSubstr("share-1")));
}

TEST_F(ClaimsTest, UnprepareAnswersInBothVersions) {
  handler_.answer = [](const auto& claims) {
    Answers answers = Fail(claims, Error(ErrorKind::kTransient, "Busy", "GPU busy", "wait"));
    answers.front().error.reset();
    return answers;
  };
  Start();
  Context context;
  dra_v1::NodeUnprepareResourcesResponse response;
  dra_v1::DRAPlugin::Stub stub(Connect(paths_.service));
  ASSERT_TRUE(
      stub.NodeUnprepareResources(&context, Ask<dra_v1::NodeUnprepareResourcesRequest>({"a", "b"}), &response).ok());
  EXPECT_EQ(response.claims().at("a").error(), "");
  EXPECT_EQ(response.claims().at("b").error(), "Busy: GPU busy; wait");

  Context beta_context;
  dra_v1beta1::NodeUnprepareResourcesResponse beta;
  dra_v1beta1::DRAPlugin::Stub beta_stub(Connect(paths_.service));
  ASSERT_TRUE(
      beta_stub
          .NodeUnprepareResources(&beta_context, Ask<dra_v1beta1::NodeUnprepareResourcesRequest>({"a", "b"}), &beta)
          .ok());
  EXPECT_EQ(beta.claims().at("b").error(), "Busy: GPU busy; wait");
}

TEST_F(ClaimsTest, EachUidIsAskedAndAnsweredOnce) {
  Start();
  const auto [status, response] = Prepare({"a", "b", "a", "a"});
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(response.claims(), SizeIs(2));
  ASSERT_THAT(handler_.asked(), SizeIs(1));
  EXPECT_THAT(handler_.asked().front(), SizeIs(2));
}

TEST_F(ClaimsTest, ForgottenClaimsFailAndStrangersAreDropped) {
  handler_.answer = [](const auto&) { return Answers{{.uid = "b"}, {.uid = "stranger"}}; };
  Start();
  const auto [status, response] = Prepare({"a", "b"});
  ASSERT_TRUE(status.ok());
  ASSERT_THAT(response.claims(), SizeIs(2));
  EXPECT_THAT(response.claims().at("a").error(), HasSubstr("default/claim-a was not answered"));
  EXPECT_EQ(response.claims().at("b").error(), "");
}

TEST_F(ClaimsTest, ADroppedCallIsAnsweredWithAnError) {
  handler_.hold = true;
  Start();
  std::jthread dropper([this] {
    EXPECT_TRUE(handler_.WaitForHeld(1));
    handler_.TakeHeld();
  });
  const auto [status, response] = Prepare({"a"});
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(response.claims().at("a").error(), HasSubstr("was not answered"));
}

TEST_F(ClaimsTest, ErrorsThatFailForGoodAreMarkedInV1OnlyAndOnRequest) {
  const std::string mark = "\x18\x01";  // Field 3, varint 1: the same bytes in either draft of KEP-5322.
  struct Case {
    ErrorKind kind;
    std::string_view code;
    bool enabled, marked;
  };
  for (const Case& c : {Case{ErrorKind::kTransient, "DeviceInUse", true, false},
                        Case{ErrorKind::kPermanentConfig, "BadDeviceConfig", true, true},
                        Case{ErrorKind::kPermanentConfig, "JournalUnwritable", true, false},  // Not the claim's fault.
                        Case{ErrorKind::kPermanentDevice, "DeviceLost", true, true},
                        Case{ErrorKind::kPermanentDevice, "DeviceLost", false, false}}) {
    SCOPED_TRACE(c.code);
    server_.reset();
    options_.kep5322 = c.enabled;
    handler_.answer = [&](const auto& claims) { return Fail(claims, Error(c.kind, c.code, "no")); };
    Start();
    const auto [status, response] = Prepare({"a"});
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(response.claims().at("a").error(), Format("{}: no", c.code));
    EXPECT_EQ(response.claims().at("a").SerializeAsString().ends_with(mark), c.marked);
    EXPECT_THAT(PrepareBeta({"a"}).claims().at("a").SerializeAsString(), EndsWith("no"));
  }
}

TEST_F(ClaimsTest, ErrorsAreValidTextOfBoundedLength) {
  handler_.answer = [](const auto& claims) {
    return Fail(claims, Error(ErrorKind::kTransient, "X", "caf\xE9 " + std::string(5000, 'x')));
  };
  Start();
  const auto [status, response] = Prepare({"a"});  // The client's protobuf rejects what is no UTF-8.
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(response.claims().at("a").error(), HasSubstr("caf\xEF\xBF\xBD x"));
  EXPECT_EQ(response.claims().at("a").error().size(), kMaxErrorText);
}

TEST_F(ClaimsTest, LimitsAreRefusalsOfTheWholeCall) {
  Start();
  EXPECT_EQ(Prepare(std::vector<std::string>(kMaxClaims + 1, "a")).first.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Prepare({std::string(5 << 20, 'a')}).first.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(handler_.asked(), IsEmpty());
  EXPECT_TRUE(Prepare(std::vector<std::string>(kMaxClaims, "a")).first.ok());
}

TEST_F(ClaimsTest, TheHandlerKnowsHowLongItHas) {
  handler_.hold = true;
  Start();
  std::jthread caller([this] { EXPECT_TRUE(Prepare({"a"}).first.ok()); });
  ASSERT_TRUE(handler_.WaitForHeld(1));
  auto calls = handler_.TakeHeld();
  const auto left = calls.front().deadline - Deadline::clock::now();
  EXPECT_GT(left, seconds(0));
  // gRPC's clients send the time left rounded up, by up to one part in a hundred.
  EXPECT_LE(left, kPatience - seconds(3) + milliseconds(kPatience) / 100);
  calls.front().done(ScriptedHandler::AnswerAll(calls.front().claims), {});
}

TEST_F(ClaimsTest, WhatIsLeftToDoIsDoneAfterTheAnswerAlsoWhenNobodyWaitsForIt) {
  handler_.hold = true;
  Start();
  for (const auto patience : {milliseconds(kPatience), milliseconds(50)}) {
    std::jthread caller([&] { Prepare({"a"}, patience); });
    ASSERT_TRUE(handler_.WaitForHeld(1));
    if (patience < kPatience) caller.join();  // It gives up.
    const auto call = handler_.TakeHeld().front();
    std::atomic<int> times = 0;
    call.done(ScriptedHandler::AnswerAll(call.claims), [&] { ++times; });
    EXPECT_TRUE(Eventually([&] { return times == 1; }));
  }
}

TEST_F(ClaimsTest, ALateAnswerAfterTheClientLeftChangesNothing) {
  handler_.hold = true;
  Start();
  EXPECT_EQ(Prepare({"a"}, milliseconds(50)).first.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(handler_.WaitForHeld(1));
  handler_.Release();
  handler_.hold = false;
  EXPECT_TRUE(Prepare({"a"}).first.ok());
}

TEST_F(ClaimsTest, CancelsRaceWithAnswers) {
  Start();
  const auto channel = Connect(paths_.service);
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    dra_v1::NodePrepareResourcesResponse response;
    dra_v1::DRAPlugin::Stub stub(channel);
    std::jthread canceller([&] { context.TryCancel(); });
    const grpc::Status status = stub.NodePrepareResources(&context, Ask({"a"}), &response);
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) << status.error_message();
  }
  EXPECT_TRUE(Prepare({"a"}).first.ok());
}

TEST_F(ClaimsTest, ConcurrentCallsGetTheirOwnAnswers) {
  Start();
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 25; ++i) {
          const std::string uid = std::to_string(caller) + "-" + std::to_string(i);
          const auto [status, response] = Prepare({uid});
          if (status.ok() && response.claims().size() == 1 && response.claims().contains(uid)) ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 200);
}

TEST_F(ClaimsTest, StopLetsRunningCallsEndAndRefusesNewOnes) {
  handler_.hold = true;
  Start();
  ASSERT_TRUE(server_->Register().has_value());
  const auto channel = Connect(paths_.service);
  grpc::Status running;
  std::jthread caller([&] { running = Prepare({"a"}).first; });
  ASSERT_TRUE(handler_.WaitForHeld(1));
  std::jthread stopper([&] { server_->Stop(kPatience); });
  ASSERT_TRUE(Eventually([&] {
    Context context(seconds(1));
    dra_v1::NodePrepareResourcesResponse response;
    dra_v1::DRAPlugin::Stub stub(channel);
    return stub.NodePrepareResources(&context, Ask({"b"}), &response).error_code() == grpc::StatusCode::UNAVAILABLE;
  }));
  EXPECT_FALSE(std::filesystem::exists(paths_.registration));
  handler_.Release();
  stopper.join();
  caller.join();
  EXPECT_TRUE(running.ok()) << running.error_message();
  EXPECT_FALSE(std::filesystem::exists(paths_.service));
}

TEST_F(ClaimsTest, StopWithoutGraceEndsWhatRuns) {
  handler_.hold = true;
  Start();
  grpc::Status running;
  std::jthread caller([&] { running = Prepare({"a"}).first; });
  ASSERT_TRUE(handler_.WaitForHeld(1));
  server_.reset();
  caller.join();
  EXPECT_EQ(running.error_code(), grpc::StatusCode::UNAVAILABLE);
  handler_.Release();  // The server is gone: nothing happens.
}

TEST_F(ClaimsTest, StoppingTwiceIsStoppingOnce) {
  Start();
  server_->Stop(seconds(1));
  server_->Stop(seconds(1));
  EXPECT_FALSE(server_->Probe(seconds(1)).has_value());
}

TEST_F(ClaimsTest, ProbeAsksTheHandler) {
  Start();
  EXPECT_TRUE(server_->Probe(kPatience).has_value());
  EXPECT_THAT(handler_.asked(), ElementsAre(IsEmpty()));
  handler_.hold = true;
  const auto hung = server_->Probe(milliseconds(50));
  ASSERT_FALSE(hung.has_value());
  EXPECT_EQ(hung.error().code(), "CallTimedOut");
}

}  // namespace
}  // namespace tessera::kubelet
