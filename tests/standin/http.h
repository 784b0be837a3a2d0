// tests/standin/http.h: HTTP/1.1 as the API server double needs it, written by hand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/standin/tls.h"

namespace tessera::standin {

struct Field {
  std::string name, value;  // Of a request: the name in lower case.
};

struct Request {
  std::string method;
  std::string target;        // "/api/v1/nodes?limit=5", as sent.
  std::string path;          // Before the '?', decoded.
  std::vector<Field> query;  // Decoded.
  std::vector<Field> headers;
  std::string body;

  std::string_view header(std::string_view name) const;     // `name` in lower case; empty when absent.
  std::string_view parameter(std::string_view name) const;  // Of the query; empty when absent.
};

struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<Field> headers;
};

// Fills path and query from the target.
void SplitTarget(Request& request);

// Requests of one connection.
class RequestReader {
 public:
  explicit RequestReader(TlsStream& stream) : stream_(stream) {}
  // Nothing when the connection ended or what came is no HTTP we know (chunked bodies, heads over 64 KiB, bodies over
  // 16 MiB).
  std::optional<Request> Next();

 private:
  bool Fill();  // False at the end.

  TlsStream& stream_;
  std::string buffer_;
};

std::string PrintHead(int status, std::string_view content_type, const std::vector<Field>& headers,
                      std::string_view framing);
std::string Print(const Answer& answer);   // With Content-Length.
std::string Chunk(std::string_view data);  // Of a chunked body.
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace tessera::standin
