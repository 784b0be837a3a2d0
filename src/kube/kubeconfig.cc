#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "kube/access.h"
#include "kube/base64.h"
#include "kube/exec_plugin.h"
#include "kube/token_source.h"

namespace tessera::kube {
namespace {

namespace fs = std::filesystem;

struct Cluster {
  std::string server, ca_file, ca_data, tls_server_name, proxy_url;
  bool insecure = false;
};
template <class F>
void Describe(F& f, Cluster& c) {
  f.Optional("server", c.server);
  f.Optional("certificate-authority", c.ca_file);
  f.Optional("certificate-authority-data", c.ca_data);
  f.Optional("tls-server-name", c.tls_server_name);
  f.Optional("proxy-url", c.proxy_url);
  f.Optional("insecure-skip-tls-verify", c.insecure);
}

struct User {
  std::string token, token_file, certificate_file, certificate_data, key_file, key_data;
  std::string username, password, impersonate;
  json::Value auth_provider;
  std::optional<ExecConfig> exec;
};
template <class F>
void Describe(F& f, User& u) {
  f.Optional("token", u.token);
  f.Optional("tokenFile", u.token_file);
  f.Optional("client-certificate", u.certificate_file);
  f.Optional("client-certificate-data", u.certificate_data);
  f.Optional("client-key", u.key_file);
  f.Optional("client-key-data", u.key_data);
  f.Optional("username", u.username);
  f.Optional("password", u.password);
  f.Optional("as", u.impersonate);
  f.Optional("auth-provider", u.auth_provider);
  f.Optional("exec", u.exec);
}

struct Context {
  std::string cluster, user;
};
template <class F>
void Describe(F& f, Context& c) {
  f.Required("cluster", c.cluster);
  f.Optional("user", c.user);
}

// The three lists have one form: a name, and the thing itself under a key of its own.
template <class T>
struct Named {
  std::string name;
  json::Value value;  // Decoded only when it is the one that is used: the others may hold what we do not know.
};
template <class T>
constexpr std::string_view kKey = {};
template <>
constexpr std::string_view kKey<Cluster> = "cluster";
template <>
constexpr std::string_view kKey<User> = "user";
template <>
constexpr std::string_view kKey<Context> = "context";
template <class F, class T>
void Describe(F& f, Named<T>& n) {
  f.Required("name", n.name);
  f.Optional(kKey<T>, n.value);
}

struct Config {
  std::string current_context;
  std::vector<Named<Cluster>> clusters;
  std::vector<Named<User>> users;
  std::vector<Named<Context>> contexts;
};
template <class F>
void Describe(F& f, Config& c) {
  f.Optional("current-context", c.current_context);
  f.Optional("clusters", c.clusters);
  f.Optional("users", c.users);
  f.Optional("contexts", c.contexts);
}

std::unexpected<Error> Invalid(std::string message, std::string advice = {}) {
  return BadConfig("KubeconfigInvalid", std::move(message), std::move(advice));
}
std::unexpected<Error> Unsupported(std::string message, std::string advice = {}) {
  return BadConfig("KubeconfigUnsupported", std::move(message), std::move(advice));
}

template <class T>
Result<T> Find(const std::vector<Named<T>>& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &Named<T>::name);
  if (found == entries.end()) return Invalid(Format("it has no {} named {}", kKey<T>, Quote(name)));
  const json::Value& value = found->value;
  // The decoder's messages repeat values. A user's are secrets, so only the place is named.
  auto decoded = json::Decode<T>(value.is_null() ? json::Value(json::Object()) : value, json::Unknown::kIgnore);
  if (!decoded.has_value() && std::same_as<T, User>) {
    return Invalid(Format("user {} has a field of the wrong type, or an exec without a command", Quote(name)));
  }
  if (!decoded.has_value()) return Invalid(Format("{} {}: {}", kKey<T>, Quote(name), decoded.error().message()));
  return decoded;
}

struct Url {
  net::Endpoint endpoint;
  std::string path;
};

Result<Url> ParseServer(const std::string& server) {
  const auto bad = [&] { return Invalid(Format("server {} is no https://host:port address", Quote(server))); };
  Url url;
  const auto scheme = Cut(server, "://");
  if (!scheme || (scheme->first != "https" && scheme->first != "http")) return bad();
  url.endpoint.tls = scheme->first == "https";
  url.endpoint.port = url.endpoint.tls ? 443 : 80;
  const std::string_view rest = scheme->second;
  std::string_view authority = rest.substr(0, rest.find('/'));
  url.path = rest.substr(authority.size());
  while (url.path.ends_with('/')) url.path.pop_back();
  if (rest.find_first_of("?#@ ") != std::string_view::npos) return bad();
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  if (authority.starts_with('[') && bracket == std::string_view::npos) return bad();
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    const auto port = ParseNumber<std::uint16_t>(authority.substr(colon + 1));
    if (!port || *port == 0) return bad();
    url.endpoint.port = *port;
    authority = authority.substr(0, colon);
  }
  if (bracket != std::string_view::npos) {
    if (!authority.ends_with(']')) return bad();
    authority = authority.substr(1, authority.size() - 2);
  }
  if (authority.empty()) return bad();
  url.endpoint.host = authority;
  return url;
}

// Inline data wins over a file, as in kubectl. Files are relative to the kubeconfig.
Result<std::string> DataOrFile(const std::string& data, const std::string& file, const fs::path& directory,
                               std::string_view field) {
  if (!data.empty()) {
    auto decoded = DecodeBase64(data);
    if (!decoded) return Invalid(Format("{}-data is no base64", field));
    return *std::move(decoded);
  }
  if (file.empty()) return std::string();
  return ReadFile(directory / file);
}

Result<void> CheckSupported(const Cluster& cluster, const User& user) {
  if (cluster.insecure) {
    return Unsupported("insecure-skip-tls-verify is set; the server's certificate is always verified",
                       "Give certificate-authority-data instead.");
  }
  if (!cluster.proxy_url.empty()) return Unsupported("proxy-url is set; proxies are not supported");
  if (!user.username.empty() || !user.password.empty()) {
    return Unsupported("username and password are set; Kubernetes has not taken them since 1.19", "Give a token.");
  }
  if (!user.auth_provider.is_null()) {
    return Unsupported("auth-provider is set; Kubernetes has removed it in 1.26", "Give an exec plugin instead.");
  }
  if (!user.impersonate.empty()) return Unsupported("impersonation (as) is set; it is not supported");
  return {};
}

Result<void> CheckExec(const ExecConfig& exec, ExecPlugins allowed) {
  if (allowed == ExecPlugins::kRefuse) {
    return Unsupported(
        Format("the user's credentials come from the plugin {}; this program runs no plugins", Quote(exec.command)),
        "Give a token file or a client certificate.");
  }
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return Unsupported(Format("the exec plugin's apiVersion {} is not supported", Quote(exec.api_version)),
                       "Use client.authentication.k8s.io/v1.");
  }
  if (exec.interactive_mode == "Always") {
    return Unsupported("the exec plugin wants to talk to a person (interactiveMode: Always)");
  }
  return {};
}

json::Value ClusterInfo(const Cluster& cluster) {
  json::Object info{{"server", cluster.server}};
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (!cluster.ca_data.empty()) info["certificate-authority-data"] = cluster.ca_data;
  return info;
}

Result<void> AddCredentials(const Cluster& cluster, const User& user, const KubeconfigOptions& options,
                            Access& access) {
  const fs::path directory = options.path.parent_path();
  TESSERA_ASSIGN(access.tls.client_certificate_pem,
                 DataOrFile(user.certificate_data, user.certificate_file, directory, "client-certificate"));
  TESSERA_ASSIGN(access.tls.client_key_pem, DataOrFile(user.key_data, user.key_file, directory, "client-key"));
  if (access.tls.client_certificate_pem.empty() != access.tls.client_key_pem.empty()) {
    return Invalid("client-certificate and client-key are needed together");
  }
  if (!user.token_file.empty()) {  // As in kubectl, the file wins: it is the one that is rotated.
    access.tokens = std::make_shared<TokenFile>(directory / user.token_file);
  } else if (!user.token.empty()) {
    TESSERA_ASSIGN(std::string token, CheckToken(user.token, "the user's token"));
    access.tokens = std::make_shared<FixedToken>(std::move(token));
  } else if (user.exec) {
    TESSERA_TRY(CheckExec(*user.exec, options.exec));
    ExecPlugin plugin{.config = *user.exec, .directory = directory, .cluster = ClusterInfo(cluster)};
    TESSERA_ASSIGN(ExecCredential credential, RunExecPlugin(plugin));
    if (!credential.client_key_pem.empty()) {
      access.tls.client_certificate_pem = credential.client_certificate_pem;
      access.tls.client_key_pem = credential.client_key_pem;
    }
    access.tokens = std::make_shared<ExecTokens>(std::move(plugin), std::move(credential));
  }
  return {};
}

Result<Access> Read(const KubeconfigOptions& options) {
  TESSERA_ASSIGN(const std::string text, ReadFile(options.path, std::size_t{4} << 20));
  const auto documents = json::ParseYaml(text);
  if (!documents.has_value()) return Invalid(documents.error().message());
  if (documents->size() != 1) return Invalid(Format("it has {} documents, not one", documents->size()));
  auto config = json::Decode<Config>(documents->front(), json::Unknown::kIgnore);
  if (!config.has_value()) return Invalid(config.error().message());
  const std::string& wanted = options.context.empty() ? config->current_context : options.context;
  if (wanted.empty()) return Invalid("it has no current-context", "Run: kubectl config use-context NAME");
  TESSERA_ASSIGN(const Context context, Find(config->contexts, wanted));
  TESSERA_ASSIGN(const Cluster cluster, Find(config->clusters, context.cluster));
  User user;
  if (!context.user.empty()) {
    TESSERA_ASSIGN(user, Find(config->users, context.user));
  }
  TESSERA_TRY(CheckSupported(cluster, user));
  TESSERA_ASSIGN(Url url, ParseServer(cluster.server));
  Access access{.endpoint = std::move(url.endpoint),
                .path_prefix = std::move(url.path),
                .tls = {.server_name = cluster.tls_server_name},
                .describe = Format("{} (context {})", cluster.server, wanted)};
  TESSERA_ASSIGN(access.tls.ca_pem,
                 DataOrFile(cluster.ca_data, cluster.ca_file, options.path.parent_path(), "certificate-authority"));
  if (access.endpoint.tls && access.tls.ca_pem.empty()) {
    return Unsupported(
        Format("cluster {} has no certificate-authority; the system's are not used", Quote(context.cluster)),
        "Add certificate-authority-data.");
  }
  TESSERA_TRY(AddCredentials(cluster, user, options, access));
  if (!access.endpoint.tls && access.tokens != nullptr) {
    return Unsupported("the server's address is http://; a token would be readable on the way", "Use https://.");
  }
  return access;
}

}  // namespace

Result<Access> FromKubeconfig(const KubeconfigOptions& options) {
  auto access = Read(options);
  if (!access.has_value())
    return std::unexpected(std::move(access).error().Wrap("kubeconfig " + options.path.string()));
  return access;
}

}  // namespace tessera::kube
