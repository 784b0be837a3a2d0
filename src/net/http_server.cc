#include "net/http_server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "base/text.h"

// NOLINTBEGIN(bugprone-unused-return-value): Asio returns what it also puts into its last argument.
namespace tessera::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::uint32_t kMaxHeader = 16 << 10;
constexpr std::chrono::milliseconds kAcceptPause{100};

struct Shared {
  ServerOptions options;
  Handler handler;
  std::atomic<std::size_t> connections{0};
};

// One connection: reads a request, calls the handler, writes its answer, and so on. Runs on a strand of its own.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Shared& shared)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), shared_(shared) {
    ++shared_.connections;
  }
  ~Session() { --shared_.connections; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Start() {
    beast::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->Read(); });
  }

 private:
  void Read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(shared_.options.max_body);
    timed_out_ = false;
    // The read is cancelled, not the socket closed: a client that was too slow is told so.
    StartTimer([](Session& self) {
      self.timed_out_ = true;
      self.socket_.cancel();
    });
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](const beast::error_code& error, std::size_t) { self->OnRead(error); });
  }

  void OnRead(const beast::error_code& error) {
    timer_.cancel();
    if (!error) return Answer();
    if (timed_out_ && parser_->got_some()) return Refuse(http::status::request_timeout);
    if (error == http::error::body_limit) return Refuse(http::status::payload_too_large);
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refuse(http::status::request_header_fields_too_large);
    }
    const bool malformed = error.category() == make_error_code(http::error::bad_method).category();
    if (malformed && error != http::error::end_of_stream && error != http::error::partial_message) {
      return Refuse(http::status::bad_request);
    }
  }

  void Answer() {
    auto& message = parser_->get();
    const bool head = message.method() == http::verb::head;
    ServerRequest request{.method = head ? "GET" : std::string(message.method_string()),
                          .body = std::move(message.body())};
    const std::string_view target(message.target().data(), message.target().size());
    request.path = target.substr(0, target.find('?'));
    if (request.path.size() < target.size()) request.query = target.substr(request.path.size() + 1);
    Send(shared_.handler(request), head, message.keep_alive());
  }

  void Refuse(http::status status) {
    const auto reason = http::obsolete_reason(status);
    Send({.status = static_cast<int>(status), .body = std::string(reason) + "\n"}, false, false);
  }

  void Send(ServerResponse answer, bool head, bool keep_alive) {
    const std::size_t size = answer.body.size();
    if (head) answer.body.clear();
    response_ = {};
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type, answer.content_type);
    response_.body() = std::move(answer.body);
    response_.keep_alive(keep_alive);
    response_.content_length(size);
    StartTimer([](Session& self) { self.Close(); });
    http::async_write(socket_, response_,
                      [self = shared_from_this(), keep_alive](const beast::error_code& error, std::size_t) {
                        self->timer_.cancel();
                        self->response_ = {};
                        if (!error && keep_alive) return self->Read();
                        self->Close();
                      });
  }

  void StartTimer(void (*expired)(Session&)) {
    timer_.expires_after(shared_.options.timeout);
    timer_.async_wait([self = shared_from_this(), expired, armed = ++armed_](const beast::error_code& error) {
      // A timer that has fired cannot be cancelled any more: only the latest counts.
      if (!error && armed == self->armed_) expired(*self);
    });
  }

  void Close() {
    beast::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Shared& shared_;
  std::uint64_t armed_ = 0;
  bool timed_out_ = false;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

// ":8080" is every address, both families where the machine has both.
Result<std::vector<tcp::endpoint>> ParseListenAddress(const std::string& text) {
  const auto bad = [&] {
    return BadConfig("ListenFailed", Format("{} is no address to listen on", Quote(text)),
                     "Write it as \":8080\", \"127.0.0.1:8080\" or \"[::1]:8080\".");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return bad();
  const auto port = ParseNumber<std::uint16_t>(std::string_view(text).substr(colon + 1));
  std::string host = text.substr(0, colon);
  if (!port) return bad();
  if (host.empty()) return std::vector{tcp::endpoint(tcp::v6(), *port), tcp::endpoint(tcp::v4(), *port)};
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return bad();
  }
  beast::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return bad();
  return std::vector{tcp::endpoint(address, *port)};
}

beast::error_code Listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  beast::error_code error;
  const auto try_next = [&](auto step) {
    if (!error) step();
  };
  acceptor.open(endpoint.protocol(), error);
  try_next([&] { acceptor.set_option(asio::socket_base::reuse_address(true), error); });
  try_next([&] {
    if (endpoint.address() == asio::ip::address_v6::any()) acceptor.set_option(asio::ip::v6_only(false), error);
  });
  try_next([&] { acceptor.bind(endpoint, error); });
  try_next([&] { acceptor.listen(asio::socket_base::max_listen_connections, error); });
  if (error) {
    beast::error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(ServerOptions options, Handler handler) : shared_{std::move(options), std::move(handler)} {}
  ~Impl() {
    io_.stop();  // A handler that runs ends first; nothing new starts.
    threads_.clear();
  }

  Result<void> Start() {
    TESSERA_ASSIGN(const std::vector<tcp::endpoint> endpoints, ParseListenAddress(shared_.options.address));
    beast::error_code error;
    for (const tcp::endpoint& endpoint : endpoints) {
      error = Listen(acceptor_, endpoint);
      if (!error) break;
    }
    if (error) {
      return Transient("ListenFailed", Format("listening on {}: {}", shared_.options.address, error.message()));
    }
    Accept();
    for (int i = 0; i < shared_.options.threads; ++i) threads_.emplace_back([this] { io_.run(); });
    return {};
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void Accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](const beast::error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return AcceptLater();
      if (shared_.connections < shared_.options.max_connections) {
        std::make_shared<Session>(std::move(socket), shared_)->Start();
      }
      Accept();
    });
  }

  // Out of descriptors, say: trying again at once would only heat the processor.
  void AcceptLater() {
    retry_.expires_after(kAcceptPause);
    retry_.async_wait([this](const beast::error_code& error) {
      if (!error) Accept();
    });
  }

  Shared shared_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_};
  asio::steady_timer retry_{io_};
  std::vector<std::jthread> threads_;  // Last: joins first.
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  TESSERA_TRY(impl->Start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const { return impl_->port(); }

}  // namespace tessera::net
// NOLINTEND(bugprone-unused-return-value)
