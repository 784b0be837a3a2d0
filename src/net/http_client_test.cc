#include "net/http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "base/text.h"
#include "net/test_peer.h"

namespace tessera::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Deadline In(milliseconds time) { return steady_clock::now() + time; }
Deadline Soon() { return In(milliseconds(150)); }  // For what never comes.
Deadline Later() { return In(seconds(30)); }       // For what comes.

TlsIdentity Trusting(const TestCertificate& authority, std::string server_name = {}) {
  return {.ca_pem = authority.certificate_pem, .server_name = std::move(server_name)};
}

std::unique_ptr<HttpClient> ClientOf(HttpClient::Options options) {
  auto client = HttpClient::Create(std::move(options));
  EXPECT_TRUE(client.has_value()) << client.error().Text();
  return std::move(client).value();
}

std::unique_ptr<HttpClient> ClientOf(const TestPeer& peer) {
  return ClientOf({.endpoint = peer.endpoint(), .tls = Trusting(TestAuthority())});
}

HttpRequest Get(std::string target) { return {.target = std::move(target)}; }

std::string CodeOf(const Result<HttpResponse>& answer) {
  return answer.has_value() ? Format("status {}", answer->status) : std::string(answer.error().code());
}

// Answers every request with the request itself, until the client goes.
void Echo(PeerConnection& peer) {
  while (const auto request = peer.ReadRequest()) peer.Respond(*request);
}

class HttpClientOver : public ::testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<TestPeer> Peer(TestPeer::Script script) {
    return GetParam() ? std::make_unique<TestPeer>(std::move(script), TestServerCertificate())
                      : std::make_unique<TestPeer>(std::move(script));
  }
};
INSTANTIATE_TEST_SUITE_P(Transport, HttpClientOver, ::testing::Bool(),
                         [](const auto& over) { return over.param ? "Tls" : "Tcp"; });

TEST_P(HttpClientOver, SendsARequestAndReadsItsAnswer) {
  const auto peer = Peer(Echo);
  const auto client = ClientOf(*peer);
  const HttpRequest request{.method = "PUT", .target = "/a?b=c", .headers = {{"X-One", "1"}}, .body = "body"};
  const auto answer = client->Exchange(request, Later());
  ASSERT_TRUE(answer.has_value()) << answer.error().Text();
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, AllOf(StartsWith("PUT /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:"), HasSubstr("\r\nX-One: 1\r\n"),
                                  ::testing::EndsWith("\r\nContent-Length: 4\r\n\r\nbody")));
  EXPECT_EQ(answer->header("content-LENGTH"), std::to_string(answer->body.size()));
  EXPECT_EQ(answer->header("absent"), "");
}

TEST_P(HttpClientOver, KeepsItsConnection) {
  const auto peer = Peer(Echo);
  const auto client = ClientOf(*peer);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
  EXPECT_EQ(peer->accepted(), 1);
  client->CloseIdle();
  EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
  EXPECT_EQ(peer->accepted(), 2);
}

TEST_P(HttpClientOver, ServesManyThreadsAtOnce) {
  const auto peer = Peer(Echo);
  const auto client = ClientOf(*peer);
  std::vector<std::future<int>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [&, i] {
      int good = 0;
      for (int j = 0; j < 20; ++j) {
        const std::string target = Format("/{}-{}", i, j);
        const auto answer = client->Exchange(Get(target), Later());
        good += answer.has_value() && answer->body.contains(target) ? 1 : 0;
      }
      return good;
    }));
  }
  for (auto& caller : callers) EXPECT_EQ(caller.get(), 20);
  EXPECT_LE(peer->accepted(), 8);
}

TEST_P(HttpClientOver, ReadsLargeAnswersAndSendsLargeBodies) {
  const auto peer = Peer(Echo);
  const auto client = ClientOf(*peer);
  const HttpRequest request{.method = "POST", .target = "/", .body = std::string(3 << 20, 'x')};
  const auto answer = client->Exchange(request, Later());
  ASSERT_TRUE(answer.has_value()) << answer.error().Text();
  EXPECT_GT(answer->body.size(), request.body.size());
}

TEST_P(HttpClientOver, NamesWhatWentWrong) {
  struct Case {
    std::string name;
    TestPeer::Script script;
    std::string code, message;
  };
  const auto after_request = [](std::string bytes) {
    return [bytes](PeerConnection& peer) {
      peer.ReadRequest();
      peer.Send(bytes);
    };
  };
  const auto then_hang = [](std::string bytes) {
    return [bytes](PeerConnection& peer) {
      peer.ReadRequest();
      peer.Send(bytes);
      peer.WaitForEnd();
    };
  };
  const std::string huge_header = "HTTP/1.1 200 OK\r\nX: " + std::string(80 << 10, 'x');
  const std::vector<Case> cases{
      {"closes at once", [](PeerConnection&) {}, "HttpClosed", ""},
      {"closes after the request", after_request(""), "HttpClosed", "closed"},
      {"closes in the head", after_request("HTTP/1.1 200 OK\r\nContent-"), "HttpClosed", ""},
      {"closes in the body", after_request("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "HttpClosed", ""},
      {"closes in a chunk", after_request(std::string(kChunkedHead) + "a\r\nabc"), "HttpClosed", ""},
      {"resets",
       [](PeerConnection& peer) {
         peer.ReadRequest();
         peer.Reset();
       },
       "HttpClosed", "reset"},
      {"sends garbage", after_request("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "HttpMalformed", "not HTTP/1.1"},
      {"sends a bad chunk", after_request(std::string(kChunkedHead) + "zz\r\nabc\r\n"), "HttpMalformed", ""},
      {"sends an endless chunk line", then_hang(std::string(kChunkedHead) + "1;" + std::string(80 << 10, 'x')),
       "HttpTooLarge", ""},
      {"sends two lengths", after_request("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
       "HttpMalformed", ""},
      {"sends a huge head", then_hang(huge_header), "HttpTooLarge", "65536 bytes"},
      {"announces a huge body", then_hang("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "HttpTooLarge",
       "1048576 bytes"},
      {"chunks a huge body",
       [](PeerConnection& peer) {
         peer.ReadRequest();
         peer.Send(kChunkedHead);
         for (int i = 0; i < 20; ++i) peer.Chunk(std::string(64 << 10, 'x'));
         peer.WaitForEnd();
       },
       "HttpTooLarge", "1048576 bytes"},
      {"never answers", then_hang(""), "HttpTimeout", "no answer in time"},
      {"stops in the head", then_hang("HTTP/1.1 200 OK\r\n"), "HttpTimeout", ""},
      {"stops in the body", then_hang("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "HttpTimeout", ""},
      {"stops in a chunk", then_hang(std::string(kChunkedHead) + "a\r\nabc"), "HttpTimeout", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto peer = Peer(c.script);
    const auto client = ClientOf({.endpoint = peer->endpoint(),
                                  .tls = Trusting(TestAuthority()),
                                  .limits = {.body_bytes = std::size_t{1} << 20}});
    const auto answer = client->Exchange(Get("/"), c.code == "HttpTimeout" ? Soon() : Later());
    ASSERT_EQ(CodeOf(answer), c.code);
    EXPECT_THAT(answer.error().message(), HasSubstr(c.message));
    EXPECT_EQ(answer.error().kind(), ErrorKind::kTransient);
    EXPECT_EQ(peer->accepted(), 1) << "a new connection must not be replaced";
  }
}

TEST_P(HttpClientOver, CancelsAtEachPhase) {
  for (const std::string sent : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}) {
    std::promise<void> reached;
    const auto peer = Peer([&](PeerConnection& connection) {
      connection.ReadRequest();
      connection.Send(sent);
      reached.set_value();
      connection.WaitForEnd();
    });
    const auto client = ClientOf(*peer);
    std::stop_source stop;
    auto answer = std::async(std::launch::async, [&] { return client->Exchange(Get("/"), Later(), stop.get_token()); });
    reached.get_future().wait();
    stop.request_stop();
    EXPECT_EQ(CodeOf(answer.get()), "HttpCancelled");
  }
  std::stop_source stopped;
  stopped.request_stop();
  const auto peer = Peer(Echo);
  EXPECT_EQ(CodeOf(ClientOf(*peer)->Exchange(Get("/"), Later(), stopped.get_token())), "HttpCancelled");
}

TEST_P(HttpClientOver, ReplacesAKeptConnectionThatTheServerClosed) {
  struct Case {
    std::string method;
    bool reset;
  };
  for (const Case& c : {Case{"GET", false}, {"PUT", false}, {"DELETE", true}, {"POST", false}, {"PATCH", true}}) {
    SCOPED_TRACE(c.method);
    std::promise<void> answered;
    const auto peer = Peer([&](PeerConnection& connection) {
      if (connection.number() > 0) return Echo(connection);
      connection.ReadRequest();
      connection.Respond("");
      answered.get_future().wait();
      if (c.reset) connection.Reset();
    });
    const auto client = ClientOf(*peer);
    ASSERT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
    answered.set_value();
    peer->WaitUntilClosed(1);
    EXPECT_EQ(CodeOf(client->Exchange({.method = c.method, .target = "/"}, Later())), "status 200");
    EXPECT_EQ(peer->accepted(), 2);
  }
}

TEST_P(HttpClientOver, NeverRepeatsAPostThatMayHaveArrived) {
  std::atomic<int> posts = 0;
  const auto peer = Peer([&](PeerConnection& connection) {
    connection.ReadRequest();
    connection.Respond("");
    if (connection.ReadRequest()) ++posts;
  });
  const auto client = ClientOf(*peer);
  ASSERT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
  EXPECT_EQ(CodeOf(client->Exchange({.method = "POST", .target = "/"}, Later())), "HttpClosed");
  EXPECT_EQ(posts, 1);
}

TEST_P(HttpClientOver, DoesNotKeepConnectionsThatAreAtTheirEnd) {
  struct Case {
    std::string name, answer;
  };
  const std::vector<Case> cases{
      {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"},
      {"more than was asked for", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto peer = Peer([&](PeerConnection& connection) {
      while (connection.ReadRequest()) connection.Send(c.answer);
    });
    const auto client = ClientOf(*peer);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
    EXPECT_EQ(peer->accepted(), 2);
  }
}

TEST_P(HttpClientOver, UnderstandsEveryFormOfAnswer) {
  struct Case {
    std::string name, method, answer, body;
    int status;
  };
  const std::vector<Case> cases{
      {"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", 200},
      {"chunks", "GET", std::string(kChunkedHead) + "1\r\na\r\n2;x=y\r\nbc\r\n0\r\nT: t\r\n\r\n", "abc", 200},
      {"no body", "GET", "HTTP/1.1 204 No Content\r\n\r\n", "", 204},
      {"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "", 200},
      {"interim answers", "GET",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\n"
       "Content-Length: 1\r\n\r\nx",
       "x", 404},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto peer = Peer([&](PeerConnection& connection) {
      while (connection.ReadRequest()) connection.Send(c.answer);
    });
    const auto client = ClientOf(*peer);
    for (int i = 0; i < 2; ++i) {
      const auto answer = client->Exchange({.method = c.method, .target = "/"}, Later());
      ASSERT_TRUE(answer.has_value()) << answer.error().Text();
      EXPECT_EQ(answer->status, c.status);
      EXPECT_EQ(answer->body, c.body);
    }
    EXPECT_EQ(peer->accepted(), 1);
  }
}

TEST_P(HttpClientOver, StreamsPiecesAsTheyArrive) {
  std::promise<void> seen_first;
  const auto peer = Peer([&](PeerConnection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.Chunk("one");
    seen_first.get_future().wait();  // The second is not sent before the first was handed out.
    connection.Chunk("two");
    connection.Send("0\r\n\r\n");
    connection.WaitForEnd();
  });
  const auto client = ClientOf(*peer);
  std::vector<std::string> pieces;
  const auto answer = client->Stream(Get("/"), Later(), seconds(30), {}, [&](std::string_view data) {
    pieces.emplace_back(data);
    if (pieces.size() == 1) seen_first.set_value();
    return true;
  });
  EXPECT_EQ(CodeOf(answer), "status 200");
  EXPECT_THAT(pieces, ElementsAre("one", "two"));
}

TEST_P(HttpClientOver, EndsAStreamForItsReasons) {
  struct Case {
    std::string name, code;
    milliseconds quiet;
    bool wants_more;
    std::string after;  // Sent after one piece.
    bool hangs;
  };
  const std::vector<Case> cases{
      {"the receiver had enough", "status 200", seconds(30), false, "", true},
      {"nothing came any more", "HttpTimeout", milliseconds(100), true, "", true},
      {"the server broke off", "HttpClosed", seconds(30), true, "", false},
      {"the server ended it", "status 200", seconds(30), true, "0\r\n\r\n", true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto peer = Peer([&](PeerConnection& connection) {
      connection.ReadRequest();
      connection.Send(kChunkedHead);
      connection.Chunk("one");
      connection.Send(c.after);
      if (c.hangs) connection.WaitForEnd();
    });
    std::string all;
    const auto answer = ClientOf(*peer)->Stream(Get("/"), Later(), c.quiet, {}, [&](std::string_view data) {
      all += data;
      return c.wants_more;
    });
    EXPECT_EQ(CodeOf(answer), c.code);
    EXPECT_EQ(all, "one");
  }
}

TEST_P(HttpClientOver, ReturnsTheBodyWhenAStreamIsRefused) {
  const auto peer = Peer([](PeerConnection& connection) {
    while (connection.ReadRequest()) connection.Respond("gone", 410);
  });
  const auto answer = ClientOf(*peer)->Stream(Get("/"), Later(), seconds(30), {}, [](std::string_view) {
    ADD_FAILURE() << "no stream was opened";
    return true;
  });
  ASSERT_EQ(CodeOf(answer), "status 410");
  EXPECT_EQ(answer->body, "gone");
}

TEST(HttpClient, RefusesToSendWhatWouldBecomeAnotherRequest) {
  const TestPeer peer(Echo);
  const auto client = ClientOf(peer);
  const std::vector<HttpRequest> cases{
      {.method = "GET /", .target = "/"},
      {.method = "", .target = "/"},
      {.target = "/ HTTP/1.1\r\nX: y"},
      {.target = "/a b"},
      {.target = "a"},
      {.target = "/", .headers = {{"A", "b\r\nC: d"}}},
      {.target = "/", .headers = {{"A: b\r\nC", "d"}}},
  };
  for (const HttpRequest& request : cases) EXPECT_EQ(CodeOf(client->Exchange(request, Later())), "HttpMalformed");
  EXPECT_EQ(peer.accepted(), 0);
}

TEST(HttpClient, ForgetsConnectionsThatWereIdleTooLong) {
  const TestPeer peer(Echo);
  const auto client = ClientOf({.endpoint = peer.endpoint(), .idle_for = seconds(0)});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
  EXPECT_EQ(peer.accepted(), 2);
}

TEST(HttpClient, FindsNamesAndTriesTheirAddresses) {
  // localhost is ::1 and 127.0.0.1 on most machines; the peer has only the second.
  const TestPeer peer(Echo, TestServerCertificate());
  const auto client = ClientOf({.endpoint = peer.endpoint("localhost"), .tls = Trusting(TestAuthority())});
  EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "status 200");
  const auto nowhere = ClientOf({.endpoint = {"no-such-host.invalid", 1, false}});
  EXPECT_EQ(CodeOf(nowhere->Exchange(Get("/"), Later())), "ConnectFailed");
}

TEST(HttpClient, SaysThatNobodyListens) {
  std::optional<TestPeer> peer(std::in_place, Echo);
  const Endpoint endpoint = peer->endpoint();
  peer.reset();
  const auto answer = ClientOf({.endpoint = endpoint})->Exchange(Get("/"), Later());
  ASSERT_EQ(CodeOf(answer), "ConnectFailed");
  EXPECT_THAT(answer.error().message(), HasSubstr("refused"));
}

// A listener whose queue is full: further connections hang in the SYN.
class FullListener {
 public:
  FullListener() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    ::getsockname(listener_.get(), generic, &size);
    port_ = ntohs(address.sin_port);
    for (UniqueFd& fill : filling_) {
      fill = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
      ::connect(fill.get(), generic, size);
    }
  }
  Endpoint endpoint() const { return {"127.0.0.1", port_, false}; }

 private:
  UniqueFd listener_;
  std::array<UniqueFd, 4> filling_;
  std::uint16_t port_ = 0;
};

TEST(HttpClient, DoesNotWaitForeverForAConnection) {
  const FullListener listener;
  const auto client = ClientOf({.endpoint = listener.endpoint()});
  const auto answer = client->Exchange(Get("/"), Soon());
  ASSERT_EQ(CodeOf(answer), "HttpTimeout");
  EXPECT_THAT(answer.error().message(), HasSubstr("connecting to 127.0.0.1:"));
  std::stop_source stop;
  auto cancelled =
      std::async(std::launch::async, [&] { return client->Exchange(Get("/"), Later(), stop.get_token()); });
  stop.request_stop();
  EXPECT_EQ(CodeOf(cancelled.get()), "HttpCancelled");
}

TEST(HttpClient, BoundsTheTimeToConnectApartFromTheCall) {
  const FullListener listener;
  const auto client = ClientOf({.endpoint = listener.endpoint(), .connect_timeout = seconds(0)});
  EXPECT_EQ(CodeOf(client->Exchange(Get("/"), Later())), "HttpTimeout");
}

TEST(HttpClientTls, ChecksTheCertificate) {
  const TestCertificate other = MakeCertificate({.authority = true});
  struct Case {
    std::string name;
    TestCertificate server;
    std::string server_name, code;
    std::string message;
  };
  const auto signed_by_us = [](CertificateOptions options) { return MakeCertificate(options, &TestAuthority()); };
  const std::vector<Case> cases{
      {"good by address", TestServerCertificate(), "", "status 200", ""},
      {"good by name", TestServerCertificate(), "localhost", "status 200", ""},
      {"good by wildcard", signed_by_us({.names = "DNS:*.example.com"}), "a.example.com", "status 200", ""},
      {"another authority", MakeCertificate({}, &other), "", "TlsVerify", "unable to get local issuer certificate"},
      {"signed by itself", MakeCertificate({}), "", "TlsVerify", "self-signed certificate"},
      {"expired", signed_by_us({.days_left = -1}), "", "TlsVerify", "certificate has expired"},
      {"another address", signed_by_us({.names = "IP:10.0.0.1,DNS:kubernetes"}), "", "TlsVerify",
       "(127.0.0.1 wanted, 10.0.0.1, \"kubernetes\" named): the server's certificate was refused: IP address mismatch"},
      {"another name", TestServerCertificate(), "example.com", "TlsVerify",
       "(example.com wanted, \"localhost\", 127.0.0.1 named): the server's certificate was refused: hostname mismatch"},
      {"the common name does not count", signed_by_us({.names = ""}), "localhost", "TlsVerify", "no name named"},
      {"a wildcard is one label", signed_by_us({.names = "DNS:*.example.com"}), "a.b.example.com", "TlsVerify", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const TestPeer peer(Echo, c.server);
    const auto client = ClientOf({.endpoint = peer.endpoint(), .tls = Trusting(TestAuthority(), c.server_name)});
    const auto answer = client->Exchange(Get("/"), Later());
    ASSERT_EQ(CodeOf(answer), c.code) << (answer.has_value() ? "" : answer.error().Text());
    if (answer.has_value()) continue;
    EXPECT_THAT(answer.error().message(), HasSubstr(c.message));
    EXPECT_EQ(answer.error().kind(), ErrorKind::kPermanentConfig);
    EXPECT_NE(answer.error().advice(), "");
  }
}

TEST(HttpClientTls, TakesAnyCertificateOfTheBundleAsAnchor) {
  const TestCertificate middle = MakeCertificate({.authority = true}, &TestAuthority());
  const TestPeer peer(Echo, MakeCertificate({}, &middle));
  EXPECT_EQ(CodeOf(ClientOf({.endpoint = peer.endpoint(), .tls = Trusting(middle)})->Exchange(Get("/"), Later())),
            "status 200");
}

TEST(HttpClientTls, ShowsItsOwnCertificateWhenAsked) {
  const TestCertificate good = MakeCertificate({.names = ""}, &TestAuthority());
  const TestCertificate bad = MakeCertificate({.names = ""});
  const TestPeer peer(Echo, TestServerCertificate(), TestAuthority().certificate_pem);
  TlsIdentity identity = Trusting(TestAuthority());
  const auto ask = [&] {
    const auto answer = ClientOf({.endpoint = peer.endpoint(), .tls = identity})->Exchange(Get("/"), Later());
    return CodeOf(answer);
  };
  EXPECT_EQ(ask(), "TlsFailed");  // It has none.
  identity.client_certificate_pem = good.certificate_pem;
  identity.client_key_pem = good.key_pem;
  EXPECT_EQ(ask(), "status 200");
  identity.client_certificate_pem = bad.certificate_pem;
  identity.client_key_pem = bad.key_pem;
  EXPECT_EQ(ask(), "TlsFailed");
}

TEST(HttpClientTls, RefusesCertificatesItCannotRead) {
  const TestCertificate client = MakeCertificate({}, &TestAuthority());
  const std::string ca = TestAuthority().certificate_pem;
  const std::vector<std::pair<TlsIdentity, std::string>> cases{
      {{.ca_pem = ""}, "the CA certificate"},
      {{.ca_pem = "nonsense"}, "the CA certificate"},
      {{.ca_pem = ca + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "the CA certificate"},
      {{.ca_pem = ca, .client_certificate_pem = client.certificate_pem}, "together"},
      {{.ca_pem = ca, .client_certificate_pem = "x", .client_key_pem = client.key_pem}, "the client certificate"},
      {{.ca_pem = ca, .client_certificate_pem = client.certificate_pem, .client_key_pem = "x"}, "the client key"},
      {{.ca_pem = ca, .client_certificate_pem = client.certificate_pem, .client_key_pem = TestAuthority().key_pem},
       "the client certificate and its key"},
  };
  for (const auto& [identity, message] : cases) {
    const auto made = HttpClient::Create({.endpoint = {"127.0.0.1", 1, true}, .tls = identity});
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().kind(), ErrorKind::kPermanentConfig);
    EXPECT_THAT(made.error().message(), HasSubstr(message));
    EXPECT_THAT(made.error().Text(), Not(HasSubstr("PRIVATE")));
  }
}

TEST(HttpClientTls, FailsTheHandshakeInTime) {
  struct Case {
    std::string name, code;
    TestPeer::Script script;
  };
  const std::vector<Case> cases{
      {"silence", "HttpTimeout", [](PeerConnection& peer) { peer.WaitForEnd(); }},
      {"the end", "TlsFailed", [](PeerConnection&) {}},
      {"plain HTTP", "TlsFailed",
       [](PeerConnection& peer) {
         peer.Send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
         peer.WaitForEnd();
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const TestPeer peer(c.script);
    Endpoint endpoint = peer.endpoint();
    endpoint.tls = true;
    const auto client = ClientOf({.endpoint = endpoint, .tls = Trusting(TestAuthority())});
    EXPECT_EQ(CodeOf(client->Exchange(Get("/"), c.code == "HttpTimeout" ? Soon() : Later())), c.code);
  }
}

TEST(HttpClientTls, TakesACutConnectionForNoEnd) {
  // Without a length, only close_notify says that the answer is complete.
  struct Case {
    bool proper;
    std::string code;
  };
  for (const Case& c : {Case{true, "status 200"}, Case{false, "HttpClosed"}}) {
    const TestPeer peer(
        [&](PeerConnection& connection) {
          connection.ReadRequest();
          connection.Send("HTTP/1.1 200 OK\r\n\r\nall of it?");
          if (c.proper) connection.Shutdown();
        },
        TestServerCertificate());
    EXPECT_EQ(CodeOf(ClientOf(peer)->Exchange(Get("/"), Later())), c.code);
  }
}

}  // namespace
}  // namespace tessera::net
