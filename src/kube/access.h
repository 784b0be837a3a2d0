// kube/access.h: where the API server is and who we are to it: from inside a pod, or from a kubeconfig.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "net/http_client.h"

namespace tessera::kube {

// Gives the bearer token for a request. Safe to call from any thread.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Empty: no Authorization header. Never logged.
  virtual Result<std::string> Token() = 0;
  // The server answered 401: what was cached is stale.
  virtual void Reject() {}
};

struct Access {
  net::Endpoint endpoint;
  std::string path_prefix;  // "/k8s/clusters/c-abc", when the server's URL has a path.
  net::TlsIdentity tls;
  std::shared_ptr<TokenSource> tokens;  // Null: none.
  std::string describe;                 // "https://10.0.0.1:443 (in-cluster)", for logs and messages.
};

// KUBERNETES_SERVICE_HOST and _PORT, and the service account's files below `root`. The token file is read again when it
// changes and at least every minute: kubelets rotate it.
Result<Access> InCluster(const std::filesystem::path& root = "/");

// Whether credential plugins (users[].user.exec) may run: for a person's shell yes, for a node agent never.
enum class ExecPlugins : std::uint8_t { kRefuse, kRun };

struct KubeconfigOptions {
  std::filesystem::path path;  // A single file.
  std::string context;         // current-context when empty.
  ExecPlugins exec = ExecPlugins::kRefuse;
};

// Certificates by file or inline, token by file or inline, client certificates, exec plugins. What we do not do is
// refused by name: insecure-skip-tls-verify, auth-provider, username and password, proxy-url.
Result<Access> FromKubeconfig(const KubeconfigOptions& options);

// --kubeconfig when given, otherwise in-cluster.
Result<Access> FindAccess(const std::filesystem::path& kubeconfig, ExecPlugins exec);

}  // namespace tessera::kube
