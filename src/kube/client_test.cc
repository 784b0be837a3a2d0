#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/text.h"
#include "kube/api_error.h"
#include "net/test_peer.h"

namespace tessera::kube {
namespace {

using net::PeerConnection;
using net::TestPeer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Call Patient() { return {.deadline = steady_clock::now() + seconds(30)}; }
Call Retrying(milliseconds time = seconds(30)) { return {.deadline = steady_clock::now() + time, .retry = true}; }

struct Answer {
  int status = 200;
  std::string body = "{}";
  std::string headers = {};  // Each with its line end.
};

// Gives the scripted answers one after the other, then the last for ever; remembers the requests.
class FakeApi {
 public:
  explicit FakeApi(std::vector<Answer> answers)
      : answers_(std::move(answers)),
        peer_([this](PeerConnection& peer) { Serve(peer); }, net::TestServerCertificate()) {}

  Access access(std::shared_ptr<TokenSource> tokens = nullptr) const {
    return {.endpoint = peer_.endpoint(),
            .tls = {.ca_pem = net::TestAuthority().certificate_pem},
            .tokens = std::move(tokens),
            .describe = "the fake"};
  }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Serve(PeerConnection& peer) {
    while (auto request = peer.ReadRequest()) {
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        answer = answers_[std::min(requests_.size(), answers_.size() - 1)];
        requests_.push_back(*std::move(request));
      }
      if (answer.status == 0) return;  // Hangs up without an answer.
      peer.Respond(answer.body, answer.status, answer.headers);
    }
  }

  std::mutex mutex_;  // Guards requests_.
  std::vector<std::string> requests_;
  const std::vector<Answer> answers_;
  TestPeer peer_;
};

class CountingTokens final : public TokenSource {
 public:
  Result<std::string> Token() override { return Format("s3cret{}", rejected_.load()); }
  void Reject() override { ++rejected_; }
  int rejected() const { return rejected_; }

 private:
  std::atomic<int> rejected_ = 0;
};

std::unique_ptr<Client> ClientOf(Access access, double qps = 1000, int burst = 1000) {
  auto client = Client::Create({.access = std::move(access), .user_agent = "test/1", .qps = qps, .burst = burst});
  EXPECT_TRUE(client.has_value()) << client.error().Text();
  return std::move(client).value();
}

std::string StatusBody(std::string_view reason, std::string_view message) {
  return Format(R"({{"kind": "Status", "message": "{}", "reason": "{}"}})", message, reason);
}

TEST(ApiError, TranslatesEveryRefusal) {
  struct Case {
    int status;
    std::string_view method, reason, code;
    ErrorKind kind;
  };
  using enum ErrorKind;
  const Case cases[] = {
      {400, "GET", "BadRequest", "ApiInvalid", kPermanentConfig},
      {401, "GET", "Unauthorized", "ApiUnauthorized", kTransient},
      {403, "GET", "Forbidden", "ApiForbidden", kTransient},
      {404, "GET", "NotFound", "ApiNotFound", kPermanentConfig},
      {405, "GET", "MethodNotAllowed", "ApiUnexpected", kTransient},
      {409, "PUT", "Conflict", "ApiConflict", kTransient},
      {409, "POST", "AlreadyExists", "ApiExists", kTransient},
      {409, "POST", "Conflict", "ApiConflict", kTransient},
      {409, "POST", "", "ApiExists", kTransient},
      {410, "GET", "Expired", "ApiGone", kTransient},
      {422, "POST", "Invalid", "ApiInvalid", kPermanentConfig},
      {429, "GET", "TooManyRequests", "ApiThrottled", kTransient},
      {500, "GET", "InternalError", "ApiServerError", kTransient},
      {503, "GET", "", "ApiServerError", kTransient},
      {302, "GET", "", "ApiUnexpected", kTransient},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Format("{} {} {}", c.status, c.method, c.reason));
    const ApiStatus status =
        ReadStatus(net::HttpResponse{.status = c.status, .body = StatusBody(c.reason, "its own words")});
    const Error error = ApiError(status, c.method, "GET /x");
    EXPECT_EQ(error.code(), c.code);
    EXPECT_EQ(error.kind(), c.kind);
    EXPECT_THAT(error.message(), AllOf(StartsWith(Format("GET /x: {}", c.status)), HasSubstr("its own words")));
  }
}

TEST(ApiError, ReadsAnyBody) {
  struct Case {
    std::string_view body, retry_after_header, message;
    std::optional<seconds> retry_after;
  };
  const Case cases[] = {
      {"upstream connect error", "", "upstream connect error", std::nullopt},
      {"", "3", "", seconds(3)},
      {R"({"kind":"Status","message":"slow","details":{"retryAfterSeconds":5}})", "", "slow", seconds(5)},
      {R"({"kind":"Status","message":"slow","details":{"retryAfterSeconds":5}})", "9", "slow", seconds(9)},
      {R"({"kind":"Status","message":7})", "", R"({"kind":"Status","message":7})", std::nullopt},
      {"", "99999999999", "", seconds(120)},
      {"", "-1", "", std::nullopt},
      {"", "Fri, 31 Dec 1999 23:59:59 GMT", "", std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    const ApiStatus status = ReadStatus(net::HttpResponse{
        .status = 503, .headers = {{"retry-after", std::string(c.retry_after_header)}}, .body = std::string(c.body)});
    EXPECT_EQ(status.message, c.message);
    EXPECT_EQ(status.retry_after, c.retry_after);
  }
}

TEST(Client, SaysWhoItIsAndWhatItWants) {
  FakeApi api({{.body = R"({"a": 1})"}});
  Access access = api.access(std::make_shared<CountingTokens>());
  access.path_prefix = "/prefix";
  const auto client = ClientOf(access);
  EXPECT_EQ(client->Get("/x?y=z", Patient()), json::Value({{"a", 1}}));
  ASSERT_TRUE(client->Create("/x", json::Value({{"b", 2}}), Patient()).has_value());
  ASSERT_TRUE(client->Update("/x", json::Value({{"b", 3}}), Patient()).has_value());
  ASSERT_TRUE(client->Patch("/x", "application/merge-patch+json", json::Value({{"b", 4}}), Patient()).has_value());
  ASSERT_TRUE(client->Delete("/x", "uid-1", "42", Patient()).has_value());
  ASSERT_TRUE(client->Apply("/x", "a b", json::Value({{"b", 5}}), Patient()).has_value());
  const auto requests = api.requests();
  ASSERT_EQ(requests.size(), 6U);
  EXPECT_THAT(requests[0],
              AllOf(StartsWith("GET /prefix/x?y=z HTTP/1.1\r\n"), HasSubstr("\r\nUser-Agent: test/1\r\n"),
                    HasSubstr("\r\nAccept: application/json\r\n"), HasSubstr("\r\nAuthorization: Bearer s3cret0\r\n")));
  EXPECT_THAT(requests[1], AllOf(StartsWith("POST /prefix/x "), HasSubstr("\r\nContent-Type: application/json\r\n"),
                                 HasSubstr("\r\n\r\n{\"b\":2}")));
  EXPECT_THAT(requests[2], StartsWith("PUT /prefix/x "));
  EXPECT_THAT(requests[3], AllOf(StartsWith("PATCH "), HasSubstr("Content-Type: application/merge-patch+json\r\n")));
  EXPECT_THAT(requests[4],
              AllOf(StartsWith("DELETE "), HasSubstr(R"("preconditions":{"uid":"uid-1","resourceVersion":"42"})")));
  EXPECT_THAT(requests[5], AllOf(StartsWith("PATCH /prefix/x?fieldManager=a%20b&force=true "),
                                 HasSubstr("Content-Type: application/apply-patch+yaml\r\n")));
}

TEST(Client, DeletingWhatIsGoneSucceeds) {
  FakeApi api({{.status = 404, .body = StatusBody("NotFound", "gone")}, {.status = 409, .body = "{}"}});
  const auto client = ClientOf(api.access());
  EXPECT_TRUE(client->Delete("/x", "", "", Patient()).has_value());
  EXPECT_EQ(client->Delete("/x", "other", "", Patient()).error().code(), "ApiConflict");
  EXPECT_THAT(api.requests().front(), Not(HasSubstr("preconditions")));
}

TEST(Client, AsksAgainOnceWithAnotherTokenWhenUnauthorized) {
  const auto tokens = std::make_shared<CountingTokens>();
  FakeApi api({{.status = 401}, {}, {.status = 401}});
  const auto client = ClientOf(api.access(tokens));
  EXPECT_TRUE(client->Get("/a", Patient()).has_value());
  const auto refused = client->Get("/b", Patient());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), "ApiUnauthorized");
  EXPECT_THAT(refused.error().Text(), Not(HasSubstr("s3cret")));
  EXPECT_EQ(tokens->rejected(), 3);
  const auto requests = api.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_THAT(requests[0], HasSubstr("Bearer s3cret0\r\n"));
  EXPECT_THAT(requests[1], HasSubstr("Bearer s3cret1\r\n"));
}

TEST(Client, RetriesOnlyWhatMayBeRepeated) {
  struct Case {
    std::string_view method;
    Answer failure;
    bool repeated;
  };
  const Case cases[] = {
      {"GET", {.status = 500}, true},      {"GET", {.status = 503}, true},
      {"GET", {.status = 429}, true},      {"GET", {.status = 0}, true},
      {"GET", {.status = 404}, false},     {"GET", {.status = 403}, false},
      {"GET", {.body = "no JSON"}, false}, {"PUT", {.status = 500}, true},
      {"PUT", {.status = 409}, false},     {"PATCH", {.status = 500}, true},
      {"POST", {.status = 429}, true},     {"POST", {.status = 503, .headers = "Retry-After: 1\r\n"}, true},
      {"POST", {.status = 500}, false},    {"POST", {.status = 0}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Format("{} {}", c.method, c.failure.status));
    FakeApi api({c.failure, {}});
    const auto client = ClientOf(api.access());
    const auto ask = [&](const Call& call) {
      if (c.method == "GET") return client->Get("/", call);
      if (c.method == "POST") return client->Create("/", {}, call);
      if (c.method == "PUT") return client->Update("/", {}, call);
      return client->Patch("/", "application/merge-patch+json", {}, call);
    };
    EXPECT_EQ(ask(Retrying()).has_value(), c.repeated);
    EXPECT_EQ(api.requests().size(), c.repeated ? 2U : 1U);
  }
}

TEST(Client, ReturnsTheLastErrorWhenTheDeadlineIsNearerThanTheNextTry) {
  FakeApi api({{.status = 503, .body = StatusBody("", "etcd is away"), .headers = "Retry-After: 60\r\n"}});
  const auto client = ClientOf(api.access());
  const auto answer = client->Get("/", Retrying());
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message(), HasSubstr("etcd is away"));
  EXPECT_EQ(api.requests().size(), 1U);
}

TEST(Client, StopsWaitingWhenAsked) {
  FakeApi api({{.status = 503, .headers = "Retry-After: 20\r\n"}});
  const auto client = ClientOf(api.access());
  std::stop_source stop;
  Call call = Retrying();
  call.stop = stop.get_token();
  auto answer = std::async(std::launch::async, [&] { return client->Get("/", call); });
  while (api.requests().empty()) std::this_thread::yield();
  stop.request_stop();
  EXPECT_FALSE(answer.get().has_value());
}

TEST(Client, TheBudgetHoldsBackgroundWorkAndNeverTheUrgent) {
  FakeApi api({Answer{}});
  const auto client = ClientOf(api.access(), /*qps=*/0.001, /*burst=*/2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client->Get("/background", Patient()).has_value());
  const auto late = client->Get("/background", Patient());
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), "ApiThrottled");
  EXPECT_THAT(late.error().message(), HasSubstr("its turn would come after the deadline"));
  Call urgent = Patient();
  urgent.lane = Lane::kUrgent;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->Get("/urgent", urgent).has_value());
  EXPECT_EQ(api.requests().size(), 22U);
}

TEST(Client, RetryAfterHoldsTheBackgroundLane) {
  FakeApi api({{.status = 429, .headers = "Retry-After: 60\r\n"}, {}});
  const auto client = ClientOf(api.access());
  EXPECT_EQ(client->Get("/", Patient()).error().code(), "ApiThrottled");
  EXPECT_EQ(client->Get("/", Patient()).error().code(), "ApiThrottled");
  EXPECT_EQ(api.requests().size(), 1U) << "the second must not have been sent";
  Call urgent = Patient();
  urgent.lane = Lane::kUrgent;
  EXPECT_TRUE(client->Get("/", urgent).has_value());
}

TEST(Client, CollectsWarningsOnce) {
  FakeApi api({{.headers = "Warning: 299 - \"unknown field \\\"spec.x\\\"\"\r\nWarning: 199 - \"other\"\r\n"}});
  const auto client = ClientOf(api.access());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->Get("/", Patient()).has_value());
  EXPECT_THAT(client->TakeWarnings(), ElementsAre("unknown field \"spec.x\""));
  EXPECT_THAT(client->TakeWarnings(), IsEmpty());
}

TEST(Client, CutsAStreamIntoLines) {
  TestPeer peer([](PeerConnection& connection) {
    connection.ReadRequest();
    connection.Send(net::kChunkedHead);
    for (const char* piece : {"{\"a\"", ":1}\n{\"b\":2}\n\n{\"c\"", ":", "3}\n", "{\"cut"}) connection.Chunk(piece);
    connection.Send("0\r\n\r\n");
    connection.WaitForEnd();
  });
  const auto client = ClientOf({.endpoint = peer.endpoint()});
  std::vector<std::string> lines;
  const auto ended = client->Stream("/", seconds(30), {}, [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  });
  EXPECT_TRUE(ended.has_value()) << ended.error().Text();
  EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}"));
}

TEST(Client, RefusesAnEndlessLine) {
  TestPeer peer([](PeerConnection& connection) {
    connection.ReadRequest();
    connection.Send(net::kChunkedHead);
    for (int i = 0; i < 80; ++i) connection.Chunk(std::string(64 << 10, 'x'));
    connection.WaitForEnd();
  });
  const auto client = ClientOf({.endpoint = peer.endpoint()});
  const auto ended = client->Stream("/", seconds(30), {}, [](std::string_view) { return true; });
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code(), "HttpTooLarge");
}

TEST(ResourceApi, TakesTheNewestVersionBothSidesKnow) {
  struct Case {
    std::string_view versions, chosen;
  };
  const Case cases[] = {
      {R"([{"version":"v1beta1"},{"version":"v1"}])", "v1"},
      {R"([{"version":"v1alpha3"},{"version":"v1beta1"},{"version":"v1beta2"}])", "v1beta2"},
      {R"([{"version":"v1beta1"}])", "v1beta1"},
      {R"([{"version":"v2"},{"version":"v1alpha3"}])", ""},
      {R"([])", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.versions);
    FakeApi api({{.body = Format(R"({{"kind": "APIGroup", "versions": {}}})", c.versions)}});
    const auto client = ClientOf(api.access());
    ResourceApi resource(*client);
    const auto version = resource.Version(Patient());
    ASSERT_EQ(version.has_value(), !c.chosen.empty());
    if (!version.has_value()) {
      EXPECT_EQ(version.error().code(), "ResourceApiMissing");
      EXPECT_THAT(version.error().Text(), HasSubstr("--runtime-config"));
      continue;
    }
    EXPECT_EQ(*version, c.chosen);
    EXPECT_EQ(resource.Path("resourceslices", Patient()), Format("/apis/resource.k8s.io/{}/resourceslices", c.chosen));
    EXPECT_EQ(api.requests().size(), 1U) << "asked once";
    resource.Forget();
    EXPECT_TRUE(resource.Version(Patient()).has_value());
    EXPECT_EQ(api.requests().size(), 2U);
  }
}

TEST(ResourceApi, SaysHowTheApiIsSwitchedOn) {
  FakeApi api({{.status = 404, .body = "404 page not found"}});
  const auto client = ClientOf(api.access());
  const auto version = ResourceApi(*client).Version(Patient());
  ASSERT_FALSE(version.has_value());
  EXPECT_EQ(version.error().kind(), ErrorKind::kPermanentConfig);
  EXPECT_THAT(version.error().Text(), AllOf(HasSubstr("the fake does not serve"), HasSubstr("1.34")));
}

TEST(Escape, LeavesOnlyWhatIsSafe) {
  EXPECT_EQ(Escape("spec.nodeName=a b,spec.driver=gpu/é"), "spec.nodeName%3Da%20b%2Cspec.driver%3Dgpu%2F%C3%A9");
}

}  // namespace
}  // namespace tessera::kube
