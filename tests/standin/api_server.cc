#include "tests/standin/api_server.h"

#include <openssl/evp.h>

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "tests/standin/connection.h"
#include "tests/standin/convert.h"
#include "tests/standin/listener.h"

namespace tessera::standin {
namespace {

namespace fs = std::filesystem;

std::string Base64(std::string_view data) {
  std::string out(4 * ((data.size() + 2) / 3), '\0');
  // EVP_EncodeBlock() ends with a zero byte, for which std::string has room.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(data.data()),
                  static_cast<int>(data.size()));
  return out;
}

json::Value Unwrap(Result<json::Value> result, std::string_view doing) {
  if (!result) Abort(Format("{}: {}", doing, result.error().message()));
  return *std::move(result);
}

}  // namespace

class ApiServer::Impl {
 public:
  Impl(Options options, Authority authority, SslContext context)
      : options_(std::move(options)),
        authority_(std::move(authority)),
        context_(std::move(context)),
        store_(options_.history),
        seen_(options_.max_seen) {
    api_.SetVersions(options_.versions);
    if (!options_.token.empty()) tokens_.push_back(options_.token);
  }

  Result<void> Listen() {
    const std::uint16_t port = port_ != 0 ? port_ : options_.port;
    TESSERA_ASSIGN(listener_, Listener::Start(port, *context_, [this](TlsStream& stream, std::stop_token stop) {
                     Connection(stream, shared_, std::move(stop)).Serve();
                   }));
    port_ = listener_->port();
    return {};
  }

  bool Authorized(std::string_view authorization) const {
    const std::lock_guard lock(mutex_);
    if (tokens_.empty()) return true;
    return authorization.starts_with("Bearer ") && std::ranges::find(tokens_, authorization.substr(7)) != tokens_.end();
  }

  std::string Token() const {
    const std::lock_guard lock(mutex_);
    return tokens_.empty() ? "" : tokens_.front();
  }

  // As an administrator. The error's message is the server's body.
  Result<json::Value> Do(std::string_view method, std::string_view target, const json::Value* body) {
    Request request{.method = std::string(method), .target = std::string(target)};
    SplitTarget(request);
    if (body) request.body = json::PrintJson(*body);
    request.headers.push_back(
        {"content-type", method == "PATCH" ? "application/merge-patch+json" : "application/json"});
    const Answer answer = api_.Handle(request, Caller::kAdministrator);
    if (answer.status >= 300) {
      return BadConfig("StandinRefused", Format("{} {}: {} {}", method, target, answer.status, answer.body));
    }
    return json::ParseJson(answer.body);
  }

  const Options options_;
  const Authority authority_;
  const SslContext context_;
  Store store_;
  Api api_{store_};
  Faults faults_;
  SeenLog seen_;
  const Shared shared_{.store = store_,
                       .api = api_,
                       .faults = faults_,
                       .seen = seen_,
                       .authorized = [this](std::string_view authorization) { return Authorized(authorization); },
                       .bookmark_interval = options_.bookmark_interval};
  std::uint16_t port_ = 0;  // Kept over Pause().

  mutable std::mutex mutex_;  // Guards tokens_.
  std::vector<std::string> tokens_;

  std::unique_ptr<Listener> listener_;  // Last: its threads use all of the above.
};

Result<std::unique_ptr<ApiServer>> ApiServer::Start(Options options) {
  TESSERA_ASSIGN(Authority authority, Authority::Create());
  TESSERA_ASSIGN(const Identity identity, authority.IssueServer());
  TESSERA_ASSIGN(SslContext context, ServerContext(identity, authority.ca_pem(), options.client_certificates));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(authority), std::move(context));
  TESSERA_TRY(impl->Listen());
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

std::uint16_t ApiServer::port() const { return impl_->port_; }
std::string ApiServer::url() const { return Format("https://127.0.0.1:{}", port()); }
const std::string& ApiServer::ca_pem() const { return impl_->authority_.ca_pem(); }
Result<Identity> ApiServer::IssueClient(std::string_view common_name) const {
  return impl_->authority_.IssueClient(common_name);
}

Result<void> ApiServer::WriteKubeconfig(const fs::path& path) const {
  const json::Object cluster{{"server", url()}, {"certificate-authority-data", Base64(ca_pem())}};
  json::Object user;
  if (const std::string token = impl_->Token(); !token.empty()) user.emplace("token", token);
  const json::Object context{{"cluster", "standin"}, {"user", "standin"}};
  const json::Object config{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "standin"},
      {"clusters", json::Array{json::Object{{"name", "standin"}, {"cluster", cluster}}}},
      {"users", json::Array{json::Object{{"name", "standin"}, {"user", user}}}},
      {"contexts", json::Array{json::Object{{"name", "standin"}, {"context", context}}}},
  };
  return ReplaceFile(path, json::PrintYaml(config), 0600);
}

Result<void> ApiServer::WriteServiceAccount(const fs::path& root) const {
  const fs::path dir = root / "var/run/secrets/kubernetes.io/serviceaccount";
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) return FromErrno(error.value(), "StandinServiceAccount", "creating " + dir.string());
  TESSERA_TRY(ReplaceFile(dir / "token", impl_->Token(), 0600));
  TESSERA_TRY(ReplaceFile(dir / "namespace", "tessera"));
  return ReplaceFile(dir / "ca.crt", ca_pem());
}

Result<json::Value> ApiServer::Get(std::string_view path) { return impl_->Do("GET", path, nullptr); }
Result<json::Value> ApiServer::Create(std::string_view collection, const json::Value& object) {
  return impl_->Do("POST", collection, &object);
}
Result<json::Value> ApiServer::Update(std::string_view path, const json::Value& object) {
  return impl_->Do("PUT", path, &object);
}
Result<json::Value> ApiServer::Patch(std::string_view path, const json::Value& merge_patch) {
  return impl_->Do("PATCH", path, &merge_patch);
}
Result<void> ApiServer::Delete(std::string_view path) {
  TESSERA_TRY(impl_->Do("DELETE", path, nullptr));
  return {};
}
Result<void> ApiServer::DeleteCollection(std::string_view collection, std::string_view field_selector) {
  TESSERA_TRY(impl_->Do("DELETE", Format("{}?fieldSelector={}", collection, field_selector), nullptr));
  return {};
}

std::vector<json::Value> ApiServer::List(std::string_view collection) {
  const auto target = ParseTarget(collection);
  if (!target) Abort(Format("{} is no collection", collection));
  const std::optional<Store::Listing> listing = impl_->store_.List(target->key);
  std::vector<json::Value> items;
  for (const ObjectRef& object : listing->items) items.push_back(object->value);
  return items;
}

bool ApiServer::WaitObjects(std::string_view collection,
                            const std::function<bool(const std::vector<json::Value>& items)>& holds,
                            std::chrono::milliseconds timeout) {
  const auto target = ParseTarget(collection);
  if (!target) Abort(Format("{} is no collection", collection));
  return impl_->store_.WaitUntil(target->key, holds, std::chrono::steady_clock::now() + timeout);
}

json::Value ApiServer::MakeClaim(const ClaimOptions& options) {
  const std::string collection = Format("/apis/{}/v1/namespaces/{}/resourceclaims", kResourceGroup, options.ns);
  return Unwrap(Create(collection, BuildClaim(options)), "making a claim");
}

json::Value ApiServer::MakeNode(const std::string& name) {
  return Unwrap(Create("/api/v1/nodes", {{"metadata", {{"name", name}}}, {"spec", json::Object()}}), "making a node");
}

Faults& ApiServer::faults() { return impl_->faults_; }
SeenLog& ApiServer::seen() { return impl_->seen_; }

void ApiServer::SetToken(std::string token) { AcceptTokens({std::move(token)}); }
void ApiServer::AcceptTokens(std::vector<std::string> tokens) {
  const std::lock_guard lock(impl_->mutex_);
  impl_->tokens_ = std::move(tokens);
}
void ApiServer::SetVersions(std::vector<std::string> versions) { impl_->api_.SetVersions(std::move(versions)); }
void ApiServer::SetWriteHook(WriteHook hook) { impl_->api_.SetWriteHook(std::move(hook)); }
void ApiServer::SetRelease(std::string version, std::map<std::string, bool> gates) {
  impl_->api_.SetRelease(std::move(version), std::move(gates));
}
void ApiServer::SetHistory(std::size_t events) { impl_->store_.SetHistory(events); }
void ApiServer::ForgetHistory() { impl_->store_.ForgetHistory(); }
void ApiServer::EndWatches() { impl_->store_.EndWatches(); }
void ApiServer::CloseConnections() {
  if (impl_->listener_) impl_->listener_->CloseConnections();
}
void ApiServer::Pause() { impl_->listener_.reset(); }
Result<void> ApiServer::Resume() { return impl_->Listen(); }
std::uint64_t ApiServer::version() const { return impl_->store_.version(); }

}  // namespace tessera::standin
