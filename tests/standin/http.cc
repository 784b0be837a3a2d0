#include "tests/standin/http.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tessera::standin {
namespace {

constexpr std::size_t kMaxHead = std::size_t{64} << 10;
constexpr std::size_t kMaxBody = std::size_t{16} << 20;

// `plus` is what a '+' means: a space in a query, itself in a path.
std::string Decode(std::string_view text, char plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '%' && i + 2 < text.size() ? ParseNumber<unsigned char>(text.substr(i + 1, 2), 16)
                                                            : std::optional<unsigned char>();
    if (code) {
      out.push_back(static_cast<char>(*code));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? plus : text[i]);
    }
  }
  return out;
}

std::string_view Find(const std::vector<Field>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? std::string_view() : std::string_view(found->value);
}

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

// The request line and the header lines, without the empty line after them.
std::optional<Request> ParseHead(std::string_view head) {
  Request request;
  auto [line, rest] = Cut(head, "\r\n").value_or(std::pair{head, std::string_view()});
  const std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() != 3 || words[2] != "HTTP/1.1" || !words[1].starts_with('/')) return std::nullopt;
  request.method = words[0];
  request.target = words[1];
  while (!rest.empty()) {
    std::tie(line, rest) = Cut(rest, "\r\n").value_or(std::pair{rest, std::string_view()});
    const auto field = Cut(line, ":");
    if (!field) return std::nullopt;
    request.headers.push_back({Lower(field->first), std::string(Trim(field->second))});
  }
  SplitTarget(request);
  return request;
}

}  // namespace

std::string_view Request::header(std::string_view name) const { return Find(headers, name); }
std::string_view Request::parameter(std::string_view name) const { return Find(query, name); }

void SplitTarget(Request& request) {
  const auto [path, query] = Cut(request.target, "?").value_or(std::pair{std::string_view(request.target), ""});
  request.path = Decode(path, '+');
  for (const std::string_view item : Split(query, '&')) {
    const auto [name, value] = Cut(item, "=").value_or(std::pair{item, ""});
    if (!name.empty()) request.query.push_back({Decode(name, ' '), Decode(value, ' ')});
  }
}

bool RequestReader::Fill() {
  std::array<char, std::size_t{16} << 10> piece;
  const std::size_t got = stream_.Read(piece.data(), piece.size());
  buffer_.append(piece.data(), got);
  return got > 0;
}

std::optional<Request> RequestReader::Next() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (buffer_.size() > kMaxHead || !Fill()) return std::nullopt;
  }
  std::optional<Request> request = ParseHead(std::string_view(buffer_).substr(0, end));
  if (!request || !request->header("transfer-encoding").empty()) return std::nullopt;
  const std::string_view length = request->header("content-length");
  const auto size = length.empty() ? std::size_t{0} : ParseNumber<std::size_t>(length).value_or(kMaxBody + 1);
  if (size > kMaxBody) return std::nullopt;
  buffer_.erase(0, end + 4);
  while (buffer_.size() < size) {
    if (!Fill()) return std::nullopt;
  }
  request->body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return request;
}

std::string PrintHead(int status, std::string_view content_type, const std::vector<Field>& headers,
                      std::string_view framing) {
  std::string out = Format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", status, Reason(status), content_type);
  for (const Field& header : headers) format_to(std::back_inserter(out), "{}: {}\r\n", header.name, header.value);
  out.append(framing).append("\r\n\r\n");
  return out;
}

std::string Print(const Answer& answer) {
  return PrintHead(answer.status, answer.content_type, answer.headers,
                   Format("Content-Length: {}", answer.body.size())) +
         answer.body;
}

std::string Chunk(std::string_view data) { return Format("{:x}\r\n{}\r\n", data.size(), data); }

}  // namespace tessera::standin
