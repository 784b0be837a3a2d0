#include "net/transfer.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "base/text.h"

namespace tessera::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kReadSize = std::size_t{16} << 10;  // A TLS record.

bool IsFieldText(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}
bool IsToken(std::string_view text) {
  return !text.empty() && IsFieldText(text) && text.find_first_of(" :()<>@,;\\\"/[]?={}") == std::string_view::npos;
}

// Reads an answer as it comes. Memory is held only while it does: an idle connection has none.
class AnswerReader {
 public:
  AnswerReader(Connection& connection, const Asked& asked, Progress& progress)
      : connection_(connection), asked_(asked), progress_(progress) {
    Restart();
  }

  Result<void> ReadHead(const Patience& patience) {
    while (!parser_->is_header_done()) {
      TESSERA_TRY(ReadSome(patience));
      // Interim answers (RFC 9110, 15.2) come before the one we asked for.
      const unsigned status = parser_->is_header_done() ? parser_->get().result_int() : 0;
      if (status >= 100 && status < 200 && status != 101) Restart();
    }
    return {};
  }

  Result<void> ReadBody(const Patience& patience) {
    while (!parser_->is_done()) TESSERA_TRY(ReadSome(patience));
    return {};
  }

  // Hands out the body in pieces of any length.
  Result<void> PassBody(const std::stop_token& stop, std::chrono::milliseconds quiet, const OnData& on_data) {
    parser_->body_limit(boost::none);
    for (;;) {
      std::string& body = parser_->get().body();
      if (!body.empty() && !on_data(body)) return {};
      body.clear();
      if (parser_->is_done()) return {};
      TESSERA_TRY(ReadSome({std::chrono::steady_clock::now() + quiet, stop}));
    }
  }

  bool Succeeded() const { return http::to_status_class(parser_->get().result()) == http::status_class::successful; }

  HttpResponse Take() {
    progress_.reusable = parser_->is_done() && parser_->keep_alive() && buffer_.size() == 0;
    HttpResponse response;
    auto& message = parser_->get();
    response.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
      response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    response.body = std::move(message.body());
    return response;
  }

 private:
  using Parser = http::response_parser<http::string_body>;

  void Restart() {
    parser_.emplace();
    parser_->eager(true);
    parser_->skip(asked_.method == "HEAD");
    parser_->header_limit(static_cast<std::uint32_t>(asked_.limits.header_bytes));
    parser_->body_limit(asked_.limits.body_bytes);
  }

  // Feeds the parser with what is buffered and, when that leads nowhere, with what comes next.
  Result<void> ReadSome(const Patience& patience) {
    beast::error_code error;
    if (buffer_.size() > 0) {
      const std::size_t used = parser_->put(buffer_.data(), error);
      buffer_.consume(used);
      if (error && error != http::error::need_more) return std::unexpected(Malformed(error));
      if (used > 0 || parser_->is_done()) return {};
      if (buffer_.size() > asked_.limits.header_bytes) return std::unexpected(Malformed(http::error::header_limit));
    }
    const auto space = buffer_.prepare(kReadSize);
    TESSERA_ASSIGN(const std::size_t got, connection_.Read({static_cast<char*>(space.data()), space.size()}, patience));
    if (got == 0) return End();
    progress_.answered = true;
    buffer_.commit(got);
    return {};
  }

  Result<void> End() {
    beast::error_code error;
    if (parser_->got_some()) parser_->put_eof(error);
    if (parser_->got_some() && !error) return {};
    return Transient("HttpClosed", progress_.answered ? "the server closed the connection in the middle of its answer"
                                                      : "the server closed the connection without an answer");
  }

  Error Malformed(const beast::error_code& error) const {
    if (error == http::error::header_limit) {
      return {ErrorKind::kTransient, "HttpTooLarge",
              Format("the answer's head is larger than {} bytes", asked_.limits.header_bytes)};
    }
    if (error == http::error::body_limit || error == http::error::buffer_overflow) {
      return {ErrorKind::kTransient, "HttpTooLarge",
              Format("the answer is larger than {} bytes", asked_.limits.body_bytes)};
    }
    return {ErrorKind::kTransient, "HttpMalformed", Format("the answer is not HTTP/1.1: {}", error.message())};
  }

  Connection& connection_;
  const Asked& asked_;
  Progress& progress_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
};

}  // namespace

Result<std::string> Serialize(const HttpRequest& request, std::string_view host) {
  const bool target_fits =
      request.target.starts_with('/') && IsFieldText(request.target) && !request.target.contains(' ');
  if (!IsToken(request.method) || !target_fits) {
    return Transient("HttpMalformed", "the request has a method or a target that HTTP cannot carry");
  }
  std::string wire;
  wire.reserve(512 + request.body.size());
  wire.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\nHost: ").append(host);
  for (const Header& header : request.headers) {
    if (!IsToken(header.name) || !IsFieldText(header.value)) {
      return Transient("HttpMalformed",
                       Format("the request has a header {} that HTTP cannot carry", Quote(header.name)));
    }
    wire.append("\r\n").append(header.name).append(": ").append(header.value);
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    wire.append("\r\nContent-Length: ").append(std::to_string(request.body.size()));
  }
  wire.append("\r\n\r\n").append(request.body);
  return wire;
}

Result<HttpResponse> Transfer(Connection& connection, const Asked& asked, const Patience& patience,
                              Progress& progress) {
  TESSERA_TRY(connection.Write(asked.wire, patience));
  AnswerReader reader(connection, asked, progress);
  TESSERA_TRY(reader.ReadHead(patience));
  TESSERA_TRY(reader.ReadBody(patience));
  return reader.Take();
}

Result<HttpResponse> TransferStream(Connection& connection, const Asked& asked, const Patience& head,
                                    std::chrono::milliseconds quiet, const OnData& on_data, Progress& progress) {
  TESSERA_TRY(connection.Write(asked.wire, head));
  AnswerReader reader(connection, asked, progress);
  TESSERA_TRY(reader.ReadHead(head));
  if (reader.Succeeded()) {
    TESSERA_TRY(reader.PassBody(head.stop, quiet, on_data));
  } else {
    TESSERA_TRY(reader.ReadBody(head));
  }
  return reader.Take();
}

}  // namespace tessera::net
