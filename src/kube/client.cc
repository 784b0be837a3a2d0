#include "kube/client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "kube/api_error.h"
#include "kube/flow.h"

namespace tessera::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBackoffFrom{100};
constexpr milliseconds kBackoffTo{5'000};
constexpr std::chrono::seconds kStreamHead{30};  // For a watch to begin; the server answers at once.
constexpr std::size_t kMaxLine = std::size_t{4} << 20;
constexpr std::size_t kMaxWarnings = 16;

// The text of `299 - "unknown field \"spec.x\""` (RFC 7234, 5.5); nothing when it is another code.
std::optional<std::string> WarningText(std::string_view value) {
  if (!value.starts_with("299 ")) return std::nullopt;
  const auto open = value.find('"');
  if (open == std::string_view::npos) return std::nullopt;
  std::string text;
  for (std::size_t i = open + 1; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return std::string(Clip(text, 1024));
}

// What failed, and how long the server wants to be left alone.
struct Failure {
  Error error;
  std::optional<std::chrono::seconds> retry_after;
};

// Whether the same request may be sent again without the caller looking first. Conflicts and refusals need another
// request; a POST that may have arrived would create a second object.
bool MayRetry(const Error& error, std::string_view method, std::optional<std::chrono::seconds> retry_after) {
  const std::string_view code = error.code();
  if (code == "ApiThrottled" || code == "ConnectFailed" || code == "TlsFailed") return true;
  if (method == "POST") return code == "ApiServerError" && retry_after.has_value();
  return code == "ApiServerError" || code == "HttpClosed" || code == "HttpTimeout";
}

}  // namespace

class Client::Impl {
 public:
  Impl(Options options, std::unique_ptr<net::HttpClient> http)
      : options_(std::move(options)),
        clock_(options_.clock != nullptr ? *options_.clock : SystemClock()),
        http_(std::move(http)),
        budget_(options_.qps, options_.burst) {}

  const Options& options() const { return options_; }

  net::HttpRequest Common(net::HttpRequest request) const {
    request.headers.push_back({"Accept", "application/json"});
    request.headers.push_back({"User-Agent", options_.user_agent});
    return request;
  }

  // Retries as the call allows; see client.h.
  Result<json::Value> Ask(net::HttpRequest request, const Call& call) {
    const std::string doing = request.method + " " + request.target;
    request.target = options_.access.path_prefix + request.target;
    Backoff backoff(kBackoffFrom, kBackoffTo);
    for (;;) {
      auto answer = AskOnce(request, call, doing);
      if (answer.has_value()) return *std::move(answer);
      auto& [error, retry_after] = answer.error();
      auto delay = backoff.Next();
      if (retry_after) delay = std::max(delay, milliseconds(*retry_after) + backoff.Jitter(kBackoffFrom));
      const auto again = steady_clock::now() + delay;
      if (!call.retry || !MayRetry(error, request.method, retry_after) || again >= call.deadline) {
        return std::unexpected(std::move(error));
      }
      log::Verbose(4, "Retrying API request", {{"request", doing}, {"err", error.message()}, {"in_ms", delay.count()}});
      if (!PauseUntil(again, call.stop)) return std::unexpected(std::move(error));
    }
  }

  Result<void> Stream(std::string_view path, milliseconds quiet, const std::stop_token& stop,
                      const std::function<bool(std::string_view)>& on_line) {
    const std::string doing = Format("GET {}", path);
    const net::HttpRequest request = Common({.target = options_.access.path_prefix + std::string(path)});
    const Call call{.deadline = steady_clock::now() + kStreamHead, .stop = stop};
    std::string partial;
    bool too_long = false;
    const auto response = Authorized(request, call, doing, [&](const net::HttpRequest& authorized) {
      return http_->Stream(authorized, call.deadline, quiet, stop, [&](std::string_view data) {
        const bool more = PassLines(data, partial, on_line);
        too_long = partial.size() > kMaxLine;
        return more && !too_long;
      });
    });
    if (!response.has_value()) return std::unexpected(response.error().error);
    if (too_long) return Transient("HttpTooLarge", Format("{}: an event is larger than {} bytes", doing, kMaxLine));
    return {};
  }

  std::vector<std::string> TakeWarnings() {
    const std::lock_guard lock(mutex_);
    return std::exchange(warnings_, {});
  }

 private:
  template <class T>
  using Outcome = std::expected<T, Failure>;

  Outcome<json::Value> AskOnce(const net::HttpRequest& request, const Call& call, const std::string& doing) {
    auto response = Authorized(request, call, doing, [&](const net::HttpRequest& authorized) {
      return http_->Exchange(authorized, call.deadline, call.stop);
    });
    if (!response.has_value()) return std::unexpected(std::move(response).error());
    NoteWarnings(*response);
    auto body = json::ParseJson(response->body);
    if (body.has_value()) return *std::move(body);
    return std::unexpected(Failure{Error(ErrorKind::kTransient, "ApiUnexpected",
                                         Format("{}: the answer is no JSON: {}", doing, body.error().message()))});
  }

  // Sends with a token, and once more with a new one when the server does not take it. Only 2xx succeeds.
  template <class Send>
  Outcome<net::HttpResponse> Authorized(const net::HttpRequest& request, const Call& call, const std::string& doing,
                                        const Send& send) {
    for (bool again = true;; again = false) {
      if (auto admitted = Admit(call, doing); !admitted.has_value()) {
        return std::unexpected(Failure{std::move(admitted).error()});
      }
      net::HttpRequest authorized = request;
      if (auto added = AddToken(authorized); !added.has_value()) {
        return std::unexpected(Failure{std::move(added).error().Wrap(doing)});
      }
      Result<net::HttpResponse> response = send(authorized);
      if (!response.has_value()) return std::unexpected(Failure{std::move(response).error().Wrap(doing)});
      if (response->status >= 200 && response->status < 300) return *std::move(response);
      const ApiStatus status = ReadStatus(*response);
      if (status.code == 401 && options_.access.tokens != nullptr) {
        options_.access.tokens->Reject();
        if (again) continue;
      }
      if (status.retry_after) budget_.HoldUntil(clock_.Monotonic() + *status.retry_after);
      return std::unexpected(Failure{ApiError(status, request.method, doing), status.retry_after});
    }
  }

  Result<void> AddToken(net::HttpRequest& request) const {
    if (options_.access.tokens == nullptr) return {};
    TESSERA_ASSIGN(const std::string token, options_.access.tokens->Token());
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
    return {};
  }

  // Background requests wait for their turn. The urgent lane passes by: it neither waits nor takes from the budget.
  Result<void> Admit(const Call& call, const std::string& doing) {
    if (call.lane == Lane::kUrgent) return {};
    const Time now = clock_.Monotonic();
    const auto wait = budget_.Reserve(now) - now;
    if (wait <= Time::duration(0)) return {};
    const Time until = steady_clock::now() + wait;
    if (until < call.deadline && PauseUntil(until, call.stop)) return {};
    budget_.GiveBack();
    if (call.stop.stop_requested()) return Transient("HttpCancelled", doing + ": cancelled");
    return Transient("ApiThrottled",
                     Format("{}: its turn would come after the deadline, in {} ms", doing,
                            std::chrono::ceil<milliseconds>(wait).count()),
                     "Raise --kube-api-qps, or see why the server asks to wait.");
  }

  void NoteWarnings(const net::HttpResponse& response) {
    for (const net::Header& header : response.headers) {
      if (Lower(header.name) != "warning") continue;
      auto text = WarningText(header.value);
      const std::lock_guard lock(mutex_);
      if (!text || warnings_.size() >= kMaxWarnings || std::ranges::find(warnings_, *text) != warnings_.end()) continue;
      warnings_.push_back(*std::move(text));
    }
  }

  static bool PassLines(std::string_view data, std::string& partial,
                        const std::function<bool(std::string_view)>& on_line) {
    while (const auto parts = Cut(data, "\n")) {
      std::string_view line = parts->first;
      if (!partial.empty()) line = partial.append(line);
      const bool more = Trim(line).empty() || on_line(line);
      partial.clear();
      if (!more) return false;
      data = parts->second;
    }
    partial.append(data);
    if (partial.empty()) partial.shrink_to_fit();
    return true;
  }

  const Options options_;
  const Clock& clock_;
  const std::unique_ptr<net::HttpClient> http_;
  RequestBudget budget_;

  std::mutex mutex_;  // Guards warnings_.
  std::vector<std::string> warnings_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Create(Options options) {
  auto http = net::HttpClient::Create({.endpoint = options.access.endpoint, .tls = options.access.tls});
  if (!http.has_value()) return std::unexpected(std::move(http).error().Wrap(options.access.describe));
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(std::move(options), *std::move(http))));
}

namespace {

net::HttpRequest WithBody(std::string_view method, std::string_view path, std::string_view content_type,
                          const json::Value& body) {
  return {.method = std::string(method),
          .target = std::string(path),
          .headers = {{"Content-Type", std::string(content_type)}},
          .body = json::PrintJson(body)};
}

}  // namespace

Result<json::Value> Client::Get(std::string_view path, const Call& call) {
  return impl_->Ask(impl_->Common({.target = std::string(path)}), call);
}

Result<json::Value> Client::Create(std::string_view path, const json::Value& body, const Call& call) {
  return impl_->Ask(impl_->Common(WithBody("POST", path, "application/json", body)), call);
}

Result<json::Value> Client::Update(std::string_view path, const json::Value& body, const Call& call) {
  return impl_->Ask(impl_->Common(WithBody("PUT", path, "application/json", body)), call);
}

Result<json::Value> Client::Patch(std::string_view path, std::string_view content_type, const json::Value& body,
                                  const Call& call) {
  return impl_->Ask(impl_->Common(WithBody("PATCH", path, content_type, body)), call);
}

Result<json::Value> Client::Apply(std::string_view path, std::string_view field_manager, const json::Value& body,
                                  const Call& call) {
  const std::string target = Format("{}?fieldManager={}&force=true", path, Escape(field_manager));
  return Patch(target, "application/apply-patch+yaml", body, call);  // JSON is YAML.
}

Result<void> Client::Delete(std::string_view path, std::string_view uid, std::string_view resource_version,
                            const Call& call) {
  json::Object preconditions;
  if (!uid.empty()) preconditions["uid"] = uid;
  if (!resource_version.empty()) preconditions["resourceVersion"] = resource_version;
  json::Object options{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  auto answer = impl_->Ask(impl_->Common(WithBody("DELETE", path, "application/json", std::move(options))), call);
  if (answer.has_value() || answer.error().code() == "ApiNotFound") return {};
  return std::unexpected(std::move(answer).error());
}

std::vector<std::string> Client::TakeWarnings() { return impl_->TakeWarnings(); }

Result<void> Client::Stream(std::string_view path, milliseconds quiet, const std::stop_token& stop,
                            const std::function<bool(std::string_view line)>& on_line) {
  return impl_->Stream(path, quiet, stop, on_line);
}

const std::string& Client::server() const { return impl_->options().access.describe; }

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    escaped += plain ? std::string(1, c) : Format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

}  // namespace tessera::kube
