#include "net/http_client.h"

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "net/connection.h"
#include "net/resolve.h"
#include "net/tls.h"
#include "net/transfer.h"

namespace tessera::net {
namespace {

using std::chrono::steady_clock;

// RFC 9110, 9.2.2: these mean the same when they arrive twice.
bool MayRepeat(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" || method == "OPTIONS";
}

std::string HostHeader(const Endpoint& endpoint) {
  const std::string host = endpoint.host.contains(':') ? "[" + endpoint.host + "]" : endpoint.host;
  const bool usual = endpoint.port == (endpoint.tls ? 443 : 80);
  return usual ? host : Format("{}:{}", host, endpoint.port);
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  const std::string wanted = Lower(name);
  const auto found = std::ranges::find_if(headers, [&](const Header& header) { return Lower(header.name) == wanted; });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

class HttpClient::Impl {
 public:
  Impl(Options options, SslContext context)
      : options_(std::move(options)),
        host_(HostHeader(options_.endpoint)),
        name_(Format("{}:{}", options_.endpoint.host, options_.endpoint.port)),
        context_(std::move(context)),
        resolver_(options_.endpoint.host, options_.endpoint.port) {
    if (options_.tls.server_name.empty()) options_.tls.server_name = options_.endpoint.host;
  }

  // Talks on a kept connection when there is one, and on a new one when there is none or it proves to be dead.
  template <class Talk>
  Result<HttpResponse> Run(const HttpRequest& request, const Patience& patience, const Talk& talk) {
    TESSERA_ASSIGN(const std::string wire, Serialize(request, host_));
    const Asked asked{request.method, wire, options_.limits};
    const bool may_repeat = MayRepeat(request.method);
    if (std::unique_ptr<Connection> kept = TakeIdle(may_repeat)) {
      Progress progress;
      Result<HttpResponse> answer = talk(*kept, asked, progress);
      if (progress.reusable) Keep(std::move(kept));
      const bool was_dead = !answer.has_value() && answer.error().code() == "HttpClosed" && !progress.answered;
      if (!was_dead || !may_repeat) return answer;
    }
    TESSERA_ASSIGN(std::unique_ptr<Connection> fresh, Open(patience));
    Progress progress;
    Result<HttpResponse> answer = talk(*fresh, asked, progress);
    if (progress.reusable) Keep(std::move(fresh));
    return answer;
  }

  void CloseIdle() {
    std::vector<Idle> closing;  // Closed without the lock.
    const std::lock_guard lock(mutex_);
    closing.swap(idle_);
  }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    steady_clock::time_point since;
  };

  Result<std::unique_ptr<Connection>> Open(const Patience& patience) {
    const Patience bounded{std::min(patience.deadline, steady_clock::now() + options_.connect_timeout), patience.stop};
    TESSERA_ASSIGN(const std::vector<Address> addresses, resolver_.Resolve(bounded.deadline, bounded.stop));
    return Connection::Open(addresses, name_, context_.get(), options_.tls.server_name, bounded);
  }

  // The connection that was used last, so that the others may age. What must not be sent twice goes only over one that
  // shows no sign of its end; for the rest it is cheaper to find out by asking.
  std::unique_ptr<Connection> TakeIdle(bool may_repeat) {
    for (;;) {
      std::vector<Idle> expired;
      std::unique_ptr<Connection> taken;
      {
        const std::lock_guard lock(mutex_);
        DropExpired(expired);
        if (idle_.empty()) return nullptr;
        taken = std::move(idle_.back().connection);
        idle_.pop_back();
      }
      if (may_repeat || !taken->HasEnded()) return taken;
    }
  }

  void Keep(std::unique_ptr<Connection> connection) {
    std::vector<Idle> expired;
    const std::lock_guard lock(mutex_);
    DropExpired(expired);
    if (idle_.size() < options_.max_idle) idle_.push_back({std::move(connection), steady_clock::now()});
  }

  // The oldest come first. Moves them out, so that they are closed without the lock.
  void DropExpired(std::vector<Idle>& expired) {
    const auto oldest = steady_clock::now() - options_.idle_for;
    const auto alive = std::ranges::find_if(idle_, [&](const Idle& idle) { return idle.since > oldest; });
    std::move(idle_.begin(), alive, std::back_inserter(expired));
    idle_.erase(idle_.begin(), alive);
  }

  // Constant after construction.
  Options options_;
  const std::string host_, name_;
  const SslContext context_;  // Null: plain TCP.

  Resolver resolver_;
  std::mutex mutex_;  // Guards idle_.
  std::vector<Idle> idle_;
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::Create(Options options) {
  SslContext context;
  if (options.endpoint.tls) {
    TESSERA_ASSIGN(context, MakeClientContext(options.tls));
  }
  return std::unique_ptr<HttpClient>(new HttpClient(std::make_unique<Impl>(std::move(options), std::move(context))));
}

Result<HttpResponse> HttpClient::Exchange(const HttpRequest& request, Deadline deadline, std::stop_token stop) {
  const Patience patience{deadline, std::move(stop)};
  return impl_->Run(request, patience, [&](Connection& connection, const Asked& asked, Progress& progress) {
    return Transfer(connection, asked, patience, progress);
  });
}

Result<HttpResponse> HttpClient::Stream(const HttpRequest& request, Deadline head_deadline,
                                        std::chrono::milliseconds quiet, std::stop_token stop,
                                        const std::function<bool(std::string_view data)>& on_data) {
  const Patience patience{head_deadline, std::move(stop)};
  return impl_->Run(request, patience, [&](Connection& connection, const Asked& asked, Progress& progress) {
    return TransferStream(connection, asked, patience, quiet, on_data, progress);
  });
}

void HttpClient::CloseIdle() { impl_->CloseIdle(); }

}  // namespace tessera::net
