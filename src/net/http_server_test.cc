#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/text.h"
#include "net/connection.h"
#include "net/http_client.h"
#include "net/resolve.h"

namespace tessera::net {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Patience Enough() { return {steady_clock::now() + seconds(30), {}}; }

ServerResponse Describe(const ServerRequest& request) {
  return {.body = Format("{} {} {} {}", request.method, request.path, request.query, request.body)};
}

std::unique_ptr<HttpServer> Serve(ServerOptions options = {}, Handler handler = Describe) {
  if (options.address.empty()) options.address = "127.0.0.1:0";
  auto server = HttpServer::Start(std::move(options), std::move(handler));
  EXPECT_TRUE(server.has_value()) << server.error().Text();
  return std::move(server).value();
}

std::unique_ptr<HttpClient> ClientOf(const HttpServer& server, const std::string& host = "127.0.0.1") {
  return std::move(HttpClient::Create({.endpoint = {host, server.port(), false}})).value();
}

// A connection to send arbitrary bytes over.
class Raw {
 public:
  explicit Raw(const HttpServer& server) {
    const std::vector addresses{*NumericAddress("127.0.0.1", server.port())};
    connection_ = std::move(Connection::Open(addresses, name_, nullptr, "", Enough())).value();
  }
  void Send(std::string_view data) { EXPECT_TRUE(connection_->Write(data, Enough()).has_value()); }
  std::string ReadToEnd() {
    std::string all;
    std::array<char, 4096> piece{};
    for (;;) {
      const auto got = connection_->Read(piece, Enough());
      if (!got.has_value()) return all + got.error().message();
      if (*got == 0) return all;
      all.append(piece.data(), *got);
    }
  }

 private:
  std::string name_ = "the server";
  std::unique_ptr<Connection> connection_;
};

TEST(HttpServer, AnswersOnOneConnection) {
  const auto server = Serve();
  const auto client = ClientOf(*server);
  const auto first = client->Exchange({.target = "/metrics?a=b"}, Enough().deadline);
  ASSERT_TRUE(first.has_value()) << first.error().Text();
  EXPECT_EQ(first->body, "GET /metrics a=b ");
  EXPECT_EQ(first->header("Content-Type"), "text/plain; charset=utf-8");
  const auto second = client->Exchange({.method = "POST", .target = "/x", .body = "data"}, Enough().deadline);
  ASSERT_TRUE(second.has_value()) << second.error().Text();
  EXPECT_EQ(second->body, "POST /x  data");
  const auto head = client->Exchange({.method = "HEAD", .target = "/x"}, Enough().deadline);
  ASSERT_TRUE(head.has_value()) << head.error().Text();
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->header("Content-Length"), "8");
}

TEST(HttpServer, TellsTheClientWhatIsWrong) {
  struct Case {
    std::string name, sent, status;
    seconds timeout{30};
  };
  const std::vector<Case> cases{
      {"no HTTP", "hello\r\n\r\n", "HTTP/1.1 400 "},
      {"two lengths", "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400 "},
      {"a large body", "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n", "HTTP/1.1 413 "},
      {"a large head", "GET / HTTP/1.1\r\nX: " + std::string(20 << 10, 'x'), "HTTP/1.1 431 "},
      {"half a head", "GET / HTTP/1.1\r\n", "HTTP/1.1 408 ", seconds(1)},
      {"half a body", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 408 ", seconds(1)},
      {"close", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 "},
      {"nothing", "", "", seconds(1)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto server = Serve({.timeout = c.timeout});
    Raw raw(*server);
    raw.Send(c.sent);
    EXPECT_THAT(raw.ReadToEnd(), StartsWith(c.status));
  }
}

TEST(HttpServer, ClosesConnectionsBeyondItsBound) {
  const auto server = Serve({.max_connections = 1});
  const auto first = ClientOf(*server);
  ASSERT_TRUE(first->Exchange({.target = "/"}, Enough().deadline).has_value());
  const auto refused = ClientOf(*server)->Exchange({.target = "/"}, Enough().deadline);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), "HttpClosed");
  EXPECT_TRUE(first->Exchange({.target = "/"}, Enough().deadline).has_value());
}

TEST(HttpServer, RunsHandlersAtTheSameTimeAndEndsThemBeforeItGoes) {
  std::promise<void> first_runs;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<bool> ended = false;
  auto server = Serve({}, [&](const ServerRequest& request) {
    if (request.path == "/slow") {
      first_runs.set_value();
      released.wait();
      ended = true;
    }
    return ServerResponse{};
  });
  const auto client = ClientOf(*server);
  auto slow = std::async(std::launch::async, [&] { return client->Exchange({.target = "/slow"}, Enough().deadline); });
  first_runs.get_future().wait();
  EXPECT_TRUE(client->Exchange({.target = "/fast"}, Enough().deadline).has_value());
  auto gone = std::async(std::launch::async, [&] { server.reset(); });
  release.set_value();
  gone.wait();
  EXPECT_TRUE(ended);
  slow.wait();
}

TEST(HttpServer, ListensWhereItIsTold) {
  const auto everywhere = Serve({.address = ":0"});
  EXPECT_TRUE(ClientOf(*everywhere)->Exchange({.target = "/"}, Enough().deadline).has_value());
  for (const std::string bad : {"", "8080", "127.0.0.1", "host:80", "::1:80", ":99999", "[::1]80"}) {
    SCOPED_TRACE(bad);
    const auto server = HttpServer::Start({.address = bad}, Describe);
    ASSERT_FALSE(server.has_value());
    EXPECT_EQ(server.error().kind(), ErrorKind::kPermanentConfig);
  }
  const auto taken = HttpServer::Start({.address = Format("127.0.0.1:{}", everywhere->port())}, Describe);
  ASSERT_FALSE(taken.has_value());
  EXPECT_THAT(taken.error().message(), HasSubstr("in use"));
}

}  // namespace
}  // namespace tessera::net
